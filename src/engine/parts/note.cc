#include "engine/parts/note.h"

#include <cstddef>

namespace sluice {
namespace {

constexpr std::size_t kLongestNote = 500;

unsigned At(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// The length in bytes of the first character; 0 if it is not valid UTF-8.
std::size_t CharacterAt(std::string_view text) {
  const unsigned first = At(text, 0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : (first & 0xf0) == 0xe0        ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((At(text, i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = At(text, 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool too_large = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

std::string ReadableText(std::string_view text) {
  std::string readable;
  readable.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = CharacterAt(text);
    readable += length > 0 ? text.substr(0, length) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(length > 0 ? length : 1);
  }
  return readable;
}

std::string NoteOf(std::string_view text) {
  std::string note = ReadableText(text);
  if (note.size() <= kLongestNote) return note;
  std::size_t end = kLongestNote;
  while ((static_cast<unsigned char>(note[end]) & 0xc0) == 0x80) --end;
  note.resize(end);
  return note;
}

}  // namespace sluice
