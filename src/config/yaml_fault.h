#pragma once

#include <yaml-cpp/exceptions.h>

#include <string_view>

#include "config/raw_node.h"
#include "config/yaml_reader.h"

namespace sluice {

// yaml-cpp's complaint in plain words, with the line at which somebody would mend it. That is often
// another one than yaml-cpp's, so the text is looked at for what people do: a colon without a blank,
// lines indented unlike their neighbours, a '#' or ': ' in a text without quotes, the fence of a
// listing. `open` is the innermost list or map that was begun and not ended, if any.
Unreadable ExplainFault(const YAML::ParserException& error, const ConfigRawNode* open,
                        std::string_view text);

}  // namespace sluice
