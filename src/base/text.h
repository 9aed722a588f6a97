#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

// The candidate that is most like the typed text; "" if none is like it.
std::string_view Nearest(std::string_view typed, std::span<const std::string> candidates);

// The end of a message that suggests the nearest candidate, as in " (did you mean 'trials'?)"; ""
// if none is near.
std::string DidYouMean(std::string_view typed, std::span<const std::string> candidates);

// The parts with the separator between them: "a, b, c".
std::string Join(std::span<const std::string> parts, std::string_view separator = ", ");

// At most the first `length` bytes. No UTF-8 character is cut in two.
std::string_view FirstBytes(std::string_view text, std::size_t length);

// The first line of the text, without its line break.
std::string_view FirstLine(std::string_view text);

// The text without spaces at its beginning and end.
std::string_view Trimmed(std::string_view text);

constexpr std::size_t kLongestShown = 60;
// A text from the user in a form that messages may show: on one line, with control characters
// escaped, and cut after kLongestShown bytes.
std::string Shown(std::string_view text);

// The text as it stands in XML, in quotes or between tags.
std::string EscapedXml(std::string_view text);

// Describes a character of the text that looks like a space but is none, or that is invisible: "a
// no-break space (U+00A0)". "" if there is none.
std::string HiddenCharacter(std::string_view text);

// Describes a character of the text that looks like a character of the keyboard but is another:
// "'−' (U+2212) is not '-'". Some stand for several characters: "'≤' (U+2264) is not '<='". "" if
// there is none.
std::string Lookalike(std::string_view text);
// The text with each such character replaced by what it stands for on the keyboard.
std::string WithoutLookalikes(std::string_view text);

// Whether the brackets of a JSON text nest deeper than this. The depth must be bounded before
// parsing: even if the parser does not recurse, its result is copied, printed and destroyed
// recursively.
bool NestsDeeperThan(std::string_view json, int depth);

}  // namespace sluice
