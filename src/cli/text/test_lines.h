#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace sluice {

// For tests: the lines of a command's output.
inline std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace sluice
