#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

// The candidate nearest to what was typed; nothing if none is near enough.
std::string_view Nearest(std::string_view typed, std::span<const std::string> candidates);

// " (did you mean 'trials'?)", or nothing.
std::string DidYouMean(std::string_view typed, std::span<const std::string> candidates);

// "a, b, c"
std::string Join(std::span<const std::string> parts, std::string_view separator = ", ");

// The first `length` bytes at most, without cutting a UTF-8 character in two.
std::string_view FirstBytes(std::string_view text, std::size_t length);

// Up to the end of the first line.
std::string_view FirstLine(std::string_view text);

// Without the blanks around it.
std::string_view Trimmed(std::string_view text);

constexpr std::size_t kLongestShown = 60;
// A text from the user as a message may show it: on one line, control characters escaped, shortened
// if it is long.
std::string Shown(std::string_view text);

// Describes a character of the text that looks like a blank, or cannot be seen: "a no-break space
// (U+00A0)". Nothing if there is none.
std::string HiddenCharacter(std::string_view text);

// Describes a character of the text that looks like one on the keyboard but is another: "'−'
// (U+2212) is not '-'". Nothing if there is none.
std::string Lookalike(std::string_view text);
// The text with such characters replaced by those on the keyboard.
std::string WithoutLookalikes(std::string_view text);

// Whether the brackets of a JSON text nest deeper than this. The depth must be bounded before
// parsing: even if the parser does not recurse, its result is copied, printed and destroyed
// recursively.
bool NestsDeeperThan(std::string_view json, int depth);

}  // namespace sluice
