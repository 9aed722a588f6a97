#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice {

// The candidate nearest to what was typed, or nothing if none is near enough to be meant.
std::string_view Nearest(std::string_view typed, std::span<const std::string> candidates);

// " (did you mean 'trials'?)", or nothing.
std::string DidYouMean(std::string_view typed, std::span<const std::string> candidates);

// "a, b, c"
std::string Join(std::span<const std::string> parts, std::string_view separator = ", ");

}  // namespace sluice
