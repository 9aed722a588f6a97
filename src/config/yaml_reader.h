#pragma once

#include <string>
#include <string_view>

#include "config/raw_node.h"

namespace sluice {

// An exception: the file cannot be read at all. Our event handler throws it through yaml-cpp's
// parser, and ConfigFile::Parse catches it.
struct Unreadable {
  int line;
  std::string message;
};

// Fills `data` with the one document of a YAML text, or throws Unreadable.
void ReadYaml(std::string_view text, ConfigData& data);

}  // namespace sluice
