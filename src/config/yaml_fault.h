#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/raw_node.h"
#include "config/yaml_reader.h"

namespace sluice {

// What the parser found wrong with a text, and where.
struct YamlFault {
  enum class Kind {
    kUnclosed,      // a bracket or a brace that is never closed
    kColon,         // a ':' where none can be
    kNextItem,      // something else where the next key or item should be
    kClosed,        // a closing bracket or brace that was never opened
    kCharacter,     // a character that cannot begin a value
    kUnknownAlias,  // an alias of an anchor that does not exist
    kEscape,        // an unknown escape in double quotes
    kDash,          // a '-' behind a key, on the same line
    kBlock,         // more text on the line of a '>' or '|' (a block scalar)
    kOther,
  };
  Kind kind = Kind::kOther;
  int line = 1;
  std::size_t column = 0;
  std::string message;  // in the parser's own words
};

// The line of the first fault of a text; nothing if it can be read.
using FindFault = std::function<std::optional<int>(std::string_view text)>;

// Explains the fault in plain words, with the line to change. That is often not the parser's line,
// so the text is searched for common mistakes: a colon without a space after it, a line indented
// unlike the lines around it, a '#' or ': ' in a text without quotes, a Markdown fence. Unless the
// text is long, every proposed line has been tried: with this line, the parser gets beyond the
// fault. `open` is the innermost list or map that was begun and not ended, if any.
Unreadable ExplainFault(const YamlFault& fault, const ConfigRawNode* open, std::string_view text,
                        const FindFault& find_fault);

}  // namespace sluice
