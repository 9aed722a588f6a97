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

// Whether the brackets of a JSON text nest deeper than this. A parser may not recurse, but what it
// builds is copied, printed and destroyed recursively: bound it before.
bool NestsDeeperThan(std::string_view json, int depth);

}  // namespace sluice
