#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <vector>

namespace sluice {
namespace {

// The number of edits (insert, delete, replace, swap neighbours) that turn one text into the other.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

}  // namespace

std::string_view Nearest(std::string_view typed, std::span<const std::string> candidates) {
  if (typed.size() > 64) return {};
  const std::string meant = Lower(typed);
  std::string_view nearest;
  std::size_t nearest_distance = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = EditDistance(meant, Lower(candidate));
    if (distance < nearest_distance) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  if (!nearest.empty()) return nearest;
  for (const std::string& candidate : candidates) {  // "fluid" for "fluid-static"
    if (meant.size() >= 3 && Lower(candidate).starts_with(meant)) return candidate;
  }
  // "TPESampler" for "tpe", "asha(eta=3)" for "asha".
  constexpr std::size_t kShortest = 3;
  for (const std::string& candidate : candidates) {
    const bool within = candidate.size() >= kShortest && meant.contains(Lower(candidate));
    if (within && candidate.size() > nearest.size()) nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(std::string_view typed, std::span<const std::string> candidates) {
  const std::string_view nearest = Nearest(typed, candidates);
  return nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts.begin(), parts.end(), separator));
}

std::string_view FirstLine(std::string_view text) { return text.substr(0, text.find('\n')); }

std::string_view FirstBytes(std::string_view text, std::size_t length) {
  if (text.size() <= length) return text;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  return text.substr(0, length);
}

std::string EscapedXml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string HiddenCharacter(std::string_view text) {
  struct Hidden {
    std::string_view bytes;
    std::string_view name;
  };
  static constexpr std::array<Hidden, 10> kHidden = {
      {{"\xc2\xa0", "a no-break space (U+00A0)"},
       {"\xe2\x80\xaf", "a narrow no-break space (U+202F)"},
       {"\xe2\x80\x83", "an em space (U+2003)"},
       {"\xe2\x80\x82", "an en space (U+2002)"},
       {"\xe2\x80\x89", "a thin space (U+2009)"},
       {"\xe3\x80\x80", "an ideographic space (U+3000)"},
       {"\xe2\x80\x8b", "a zero-width space (U+200B)"},
       {"\xe2\x80\x8d", "a zero-width joiner (U+200D)"},
       {"\xef\xbb\xbf", "a byte order mark (U+FEFF)"},
       {"\xc2\xad", "a soft hyphen (U+00AD)"}}};
  for (const Hidden& hidden : kHidden) {
    if (text.contains(hidden.bytes)) return std::string(hidden.name);
  }
  return "";
}

namespace {

struct LookalikePair {
  std::string_view bytes;
  std::string_view code;
  std::string_view meant;
};
constexpr std::array<LookalikePair, 40> kLookalikes = {
    {{"\u2212", "2212", "-"},  {"\u2013", "2013", "-"},  {"\u2014", "2014", "-"},
     {"\u2010", "2010", "-"},  {"\u2011", "2011", "-"},  {"\u2018", "2018", "'"},
     {"\u2019", "2019", "'"},  {"\u2032", "2032", "'"},  {"\u00b4", "00B4", "'"},
     {"\u201c", "201C", "\""}, {"\u201d", "201D", "\""}, {"\u201e", "201E", "\""},
     {"\u00ab", "00AB", "\""}, {"\u00bb", "00BB", "\""}, {"\u2264", "2264", "<="},
     {"\u2265", "2265", ">="}, {"\u2260", "2260", "!="}, {"\u00d7", "00D7", "*"},
     {"\u22c5", "22C5", "*"},  {"\u00b7", "00B7", "*"},  {"\u2026", "2026", "..."},
     {"\uff1a", "FF1A", ":"},  {"\u2236", "2236", ":"},  {"\ua789", "A789", ":"},
     {"\uff0c", "FF0C", ","},  {"\u3001", "3001", ","},  {"\uff08", "FF08", "("},
     {"\uff09", "FF09", ")"},  {"\uff3b", "FF3B", "["},  {"\uff3d", "FF3D", "]"},
     {"\uff5b", "FF5B", "{"},  {"\uff5d", "FF5D", "}"},  {"\uff0d", "FF0D", "-"},
     {"\uff1d", "FF1D", "="},  {"\u0430", "0430", "a"},  {"\u0435", "0435", "e"},
     {"\u043e", "043E", "o"},  {"\u0440", "0440", "p"},  {"\u0441", "0441", "c"},
     {"\u0456", "0456", "i"}}};

}  // namespace

std::string Lookalike(std::string_view text) {
  for (const LookalikePair& pair : kLookalikes) {
    if (text.contains(pair.bytes))
      return fmt::format("'{}' (U+{}) is not '{}'", pair.bytes, pair.code, pair.meant);
  }
  return "";
}

std::string WithoutLookalikes(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const auto* const pair = std::ranges::find_if(
        kLookalikes, [&](const LookalikePair& one) { return text.starts_with(one.bytes); });
    const bool found = pair != kLookalikes.end();
    plain += found ? pair->meant : text.substr(0, 1);
    text.remove_prefix(found ? pair->bytes.size() : 1);
  }
  return plain;
}

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string Shown(std::string_view text) {
  std::string out;
  for (const char c : FirstBytes(text, kLongestShown)) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (code < 0x20 || code == 0x7F) {
      out += fmt::format("\\x{:02x}", code);
    } else {
      out += c;
    }
  }
  if (text.size() > kLongestShown) out += "...";
  return out;
}

bool NestsDeeperThan(std::string_view json, int depth) {
  int at = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      if (++at > depth) return true;
    } else if (c == '}' || c == ']') {
      --at;
    }
  }
  return false;
}

}  // namespace sluice
