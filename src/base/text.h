#pragma once

#include <cstddef>
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

// At most `length` bytes of the front, no character of UTF-8 cut in two.
std::string_view FirstBytes(std::string_view text, std::size_t length);

// Up to the end of the first line.
std::string_view FirstLine(std::string_view text);

constexpr std::size_t kLongestShown = 60;
// A text of the user's as a message may show it: on one line, control characters escaped, shortened
// if long.
std::string Shown(std::string_view text);

// The first character of a text that cannot be told from a blank, or not be seen: "a no-break space
// (U+00A0)". Nothing if there is none.
std::string HiddenCharacter(std::string_view text);

// The first character of a text that looks like one on the keyboard and is another: "'−' (U+2212) is not
// '-'". Nothing if there is none.
std::string Lookalike(std::string_view text);
// The text with the characters of the keyboard in their place.
std::string WithoutLookalikes(std::string_view text);

// Whether the brackets of a JSON text nest deeper than this. A parser may not recurse, but what it
// builds is copied, printed and destroyed recursively: bound it before.
bool NestsDeeperThan(std::string_view json, int depth);

}  // namespace sluice
