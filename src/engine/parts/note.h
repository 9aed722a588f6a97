#pragma once

#include <string>
#include <string_view>

namespace sluice {

// The text as valid UTF-8, because programs may print any bytes. Each byte that is not part of a
// valid character becomes U+FFFD. Valid UTF-8 is not changed, so a stored event reads back exactly
// as it was applied.
std::string ReadableText(std::string_view text);

// A text as a trial's note: valid UTF-8, cut between characters to at most 500 bytes.
std::string NoteOf(std::string_view text);

}  // namespace sluice
