#include "cli/text/display_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

namespace sluice {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array kZeroWidth = {
    Range{0x0300, 0x036f}, Range{0x0483, 0x0489}, Range{0x0591, 0x05bd},   Range{0x0610, 0x061a},
    Range{0x064b, 0x065f}, Range{0x06d6, 0x06dc}, Range{0x0900, 0x0902},   Range{0x093c, 0x093c},
    Range{0x0941, 0x0948}, Range{0x094d, 0x094d}, Range{0x0e31, 0x0e31},   Range{0x0e34, 0x0e3a},
    Range{0x0e47, 0x0e4e}, Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff},   Range{0x200b, 0x200d},
    Range{0x20d0, 0x20f0}, Range{0x302a, 0x302d}, Range{0x3099, 0x309a},   Range{0xfe00, 0xfe0f},
    Range{0xfe20, 0xfe2f}, Range{0xfeff, 0xfeff}, Range{0xe0100, 0xe01ef},
};

constexpr std::array kDoubleWidth = {
    Range{0x1100, 0x115f},   Range{0x231a, 0x231b},   Range{0x23e9, 0x23ec},
    Range{0x25fd, 0x25fe},   Range{0x2614, 0x2615},   Range{0x2648, 0x2653},
    Range{0x26a1, 0x26a1},   Range{0x26bd, 0x26be},   Range{0x26c4, 0x26c5},
    Range{0x26d4, 0x26d4},   Range{0x26ea, 0x26ea},   Range{0x26fa, 0x26fd},
    Range{0x2705, 0x2705},   Range{0x270a, 0x270b},   Range{0x2728, 0x2728},
    Range{0x274c, 0x274e},   Range{0x2753, 0x2757},   Range{0x2795, 0x2797},
    Range{0x2b1b, 0x2b1c},   Range{0x2b50, 0x2b55},   Range{0x2e80, 0x3029},
    Range{0x302e, 0x303e},   Range{0x3041, 0x3247},   Range{0x3250, 0x4dbf},
    Range{0x4e00, 0xa4c6},   Range{0xa960, 0xa97c},   Range{0xac00, 0xd7a3},
    Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6b},   Range{0xff01, 0xff60},
    Range{0xffe0, 0xffe6},   Range{0x16fe0, 0x18cff}, Range{0x1b000, 0x1b2ff},
    Range{0x1f004, 0x1f004}, Range{0x1f0cf, 0x1f0cf}, Range{0x1f18e, 0x1f19a},
    Range{0x1f200, 0x1f320}, Range{0x1f32d, 0x1f64f}, Range{0x1f680, 0x1f6ff},
    Range{0x1f7e0, 0x1f7eb}, Range{0x1f90c, 0x1faff}, Range{0x20000, 0x3fffd},
};

// Control characters, line and paragraph separators, and marks that change the direction of
// writing.
constexpr std::array kHarmful = {
    Range{0x00, 0x1f},     Range{0x7f, 0x9f},     Range{0x061c, 0x061c}, Range{0x200e, 0x200f},
    Range{0x2028, 0x202e}, Range{0x2060, 0x206f}, Range{0xfff0, 0xfffb}, Range{0xe0000, 0xe007f},
};

bool In(std::span<const Range> ranges, char32_t c) {
  const auto after = std::ranges::upper_bound(ranges, c, {}, &Range::first);
  return after != ranges.begin() && c <= std::prev(after)->last;
}

constexpr char32_t kBroken = 0xffffffff;

// Removes the first character from the text and returns it. If the text does not begin with valid
// UTF-8, removes one byte and returns kBroken.
char32_t TakeCharacter(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  char32_t c = length <= 1 ? lead : lead & (0x7f >> length);
  bool good = length > 0 && length <= text.size();
  for (std::size_t i = 1; good && i < length; ++i) {
    good = (byte(i) & 0xc0) == 0x80;
    c = c << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  good = good && c >= kSmallest[length] && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
  text.remove_prefix(good ? length : 1);
  return good ? c : kBroken;
}

int ColumnsOf(char32_t c) {
  if (c == kBroken) return 1;
  return In(kZeroWidth, c) ? 0 : In(kDoubleWidth, c) ? 2 : 1;
}

}  // namespace

std::string_view WidePrefix(std::string_view text, int columns) {
  std::string_view rest = text;
  std::string_view before = text;
  int width = 0;
  while (!rest.empty()) {
    before = rest;
    width += ColumnsOf(TakeCharacter(rest));
    if (width > columns) return text.substr(0, text.size() - before.size());
  }
  return text;
}

std::string_view Ellipsis(bool utf8) { return utf8 ? "…" : "..."; }

std::string Harmless(std::string_view text, bool utf8) {
  std::string out;
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = TakeCharacter(text);
    if (c == '\n' || c == '\r' || c == '\t') {
      out += ' ';
    } else if (c == kBroken || In(kHarmful, c) || (c > 0x7f && !utf8)) {
      out += '?';
    } else {
      out += before.substr(0, before.size() - text.size());
    }
  }
  return out;
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) width += ColumnsOf(TakeCharacter(text));
  return width;
}

std::string Fit(std::string_view text, int columns, bool utf8) {
  if (columns <= 0) return "";
  if (DisplayWidth(text) <= columns) return std::string(text);
  const std::string_view ellipsis = WidePrefix(Ellipsis(utf8), columns);
  return std::string(WidePrefix(text, columns - DisplayWidth(ellipsis))) + std::string(ellipsis);
}

std::string Padded(std::string text, int columns) {
  const int missing = columns - DisplayWidth(text);
  if (missing > 0) text.append(static_cast<std::size_t>(missing), ' ');
  return text;
}

}  // namespace sluice
