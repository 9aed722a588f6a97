#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Makes a text safe to print on a terminal: controls, direction marks and broken UTF-8 become '?',
// line breaks and tabs become a space. Without `utf8` everything beyond ASCII becomes '?', too.
std::string Harmless(std::string_view text, bool utf8 = true);
// Columns a harmless text takes on a terminal: 2 for wide characters, 0 for combining ones.
int DisplayWidth(std::string_view text);
// The text, or what of it fits into `columns` with an ellipsis at its end.
std::string Fit(std::string_view text, int columns, bool utf8 = true);
// As much of the text as takes at most `columns`.
std::string_view WidePrefix(std::string_view text, int columns);
std::string_view Ellipsis(bool utf8);
// The text with blanks behind it, up to `columns`.
std::string Padded(std::string text, int columns);

}  // namespace sluice
