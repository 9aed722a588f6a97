#pragma once

#include <string>
#include <string_view>

#include "config/raw_node.h"

namespace sluice {

// A file that cannot be read at all. Thrown through yaml-cpp's parser by our handler; caught by
// ConfigFile::Parse.
struct Unreadable {
  int line;
  std::string message;
};

// Fills `data` with the one document of a YAML text, or throws Unreadable.
void ReadYaml(std::string_view text, ConfigData& data);

}  // namespace sluice
