#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Makes a text safe to print on a terminal. Control characters, marks that change the direction of
// writing, and bytes that are not UTF-8 become '?'. A line break or a tab becomes a space. Without
// `utf8`, each character beyond ASCII becomes '?' too.
std::string Harmless(std::string_view text, bool utf8 = true);
// The columns that a text from Harmless takes on a terminal: 2 for each wide character, 0 for each
// combining character, 1 for every other.
int DisplayWidth(std::string_view text);
// The text; if it is wider than `columns`, as much of its beginning as fits with an ellipsis.
std::string Fit(std::string_view text, int columns, bool utf8 = true);
// The longest beginning of the text that takes at most `columns`.
std::string_view WidePrefix(std::string_view text, int columns);
std::string_view Ellipsis(bool utf8);
// The text, with spaces added at its end until it takes `columns`.
std::string Padded(std::string text, int columns);

}  // namespace sluice
