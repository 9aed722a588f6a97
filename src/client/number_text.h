#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace sluice::client {

// The number that a small file holds. Nothing if the text is not one number, with white space
// around it perhaps.
template <typename Integer>
std::optional<Integer> NumberIn(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
  Integer number{};
  const auto found = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = found.ec == std::errc() && found.ptr == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

}  // namespace sluice::client
