#include "model/read/bare_numbers.h"

#include <algorithm>

namespace sluice::model {
namespace {

// The length of the JSON text that begins at the first character, including both quotes.
std::size_t LengthOfText(std::string_view json) {
  std::size_t at = 1;
  while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return std::min(at + 1, json.size());
}

}  // namespace

std::string WithQuotedNumbers(std::string_view json) {
  std::string quoted;
  quoted.reserve(json.size());
  while (!json.empty()) {
    std::size_t length = std::min(json.find_first_of("\"-IN"), json.size());
    const std::string_view rest = json.substr(length);
    quoted += json.substr(0, length);
    length = 1;
    bool is_bare = false;
    if (rest.starts_with('"')) length = LengthOfText(rest);
    for (const std::string_view number : {"-Infinity", "Infinity", "NaN"}) {
      if (!rest.starts_with(number)) continue;
      length = number.size();
      is_bare = true;
    }
    const std::string_view taken = rest.substr(0, length);
    if (is_bare) quoted += '"';
    quoted += taken;
    if (is_bare) quoted += '"';
    json = rest.substr(taken.size());
  }
  return quoted;
}

}  // namespace sluice::model
