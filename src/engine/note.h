#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Programs may print any bytes; what is kept is UTF-8. Each byte that is not part of a valid
// character becomes U+FFFD. A text that is UTF-8 already stays as it is, so that an event reads
// back as it was applied.
std::string ReadableText(std::string_view text);

// A trial's note: readable, at most 500 bytes, cut between characters.
std::string NoteOf(std::string_view text);

}  // namespace sluice
