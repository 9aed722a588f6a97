#pragma once

// For tests: the message about a text that cannot be read.

#include <string>
#include <string_view>

#include "config/config.h"

namespace sluice {

// Empty if the text can be read.
inline std::string FaultOf(std::string_view text) {
  const auto file = ConfigFile::Parse(text, "f");
  return file ? "" : file.error().message;
}

}  // namespace sluice
