#pragma once

#include <string>
#include <string_view>

namespace sluice {

// What programs print may be anything; what is kept of it is UTF-8: each byte that is none becomes
// U+FFFD. The same text again when it is one already, so that an event reads back as it was
// applied.
std::string ReadableText(std::string_view text);

// A trial's note: readable, at most 500 bytes, cut between characters.
std::string NoteOf(std::string_view text);

}  // namespace sluice
