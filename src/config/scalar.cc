#include "config/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "base/time.h"

namespace sluice {
namespace {

bool OnlyDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<std::int64_t> ParseWhole(std::string_view text, bool& whole) {
  whole = false;
  const bool negative = text.starts_with('-');
  std::string_view digits = text;
  if (negative || text.starts_with('+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() == text.size() && (digits.starts_with("0x") || digits.starts_with("0o"))) {
    base = digits[1] == 'x' ? 16 : 8;
    digits.remove_prefix(2);
    const std::string_view allowed = base == 16 ? "0123456789abcdefABCDEF" : "01234567";
    if (digits.empty() || digits.find_first_not_of(allowed) != std::string_view::npos)
      return std::nullopt;
  } else if (!OnlyDigits(digits)) {
    return std::nullopt;
  }
  whole = true;
  std::uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (error != std::errc() || magnitude > kMax) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
}

std::optional<double> ParseNumber(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == ".inf" || rest == ".Inf" || rest == ".INF") {
    const double infinity = std::numeric_limits<double>::infinity();
    return negative ? -infinity : infinity;
  }
  if (text == ".nan" || text == ".NaN" || text == ".NAN")
    return std::numeric_limits<double>::quiet_NaN();
  // from_chars also takes words such as inf, which YAML does not.
  if (rest.empty() || rest.find_first_not_of("0123456789.eE+-") != std::string_view::npos)
    return std::nullopt;
  if (rest.front() != '.' && !OnlyDigits(rest.substr(0, 1))) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (end != rest.data() + rest.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Unlike from_chars, strtod says which it is: a number that is too small becomes zero, or the
    // nearest subnormal number, and a number that is too large becomes infinity.
    value = std::strtod(std::string(rest).c_str(), nullptr);
  } else if (error != std::errc()) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<bool> ParseBoolean(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

std::optional<std::int64_t> ParseSize(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr std::array kUnits = {Unit{"", 1},         Unit{"B", 1},        Unit{"kB", 1e3},
                                 Unit{"KB", 1e3},     Unit{"MB", 1e6},     Unit{"GB", 1e9},
                                 Unit{"TB", 1e12},    Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20},
                                 Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<double> amount = ParseNumber(text.substr(0, digits));
  if (!amount) return std::nullopt;
  std::string_view name = text.substr(digits);
  while (name.starts_with(' ')) name.remove_prefix(1);
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    const double bytes = *amount * unit.bytes;
    return bytes <= 0x1p60 ? std::optional(std::llround(bytes)) : std::nullopt;
  }
  return std::nullopt;
}

namespace {

// A number at the front of a text, and what follows it.
struct Leading {
  double value = 0;
  std::string_view written;
  std::string_view rest;  // without spaces before it
};
std::optional<Leading> LeadingNumber(std::string_view text) {
  Leading leading;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), leading.value);
  if (error != std::errc() || !std::isfinite(leading.value)) return std::nullopt;
  leading.written = text.substr(0, static_cast<std::size_t>(end - text.data()));
  leading.rest = text.substr(leading.written.size());
  leading.rest.remove_prefix(std::min(leading.rest.find_first_not_of(' '), leading.rest.size()));
  return leading;
}

std::string WordIn(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) return "";
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return word;
}

}  // namespace

std::string SuggestNumber(std::string_view text) {
  // "1,000", "1_000", "~100", "24,"
  std::string plain;
  for (const char c : text) {
    if (!std::string_view(",_~").contains(c)) plain += c;
  }
  const std::size_t comma = text.find(',');
  const bool thousands = comma != std::string_view::npos && text.size() - comma == 4;
  const bool decimal = comma != std::string_view::npos && !thousands && comma + 1 < text.size();
  if (plain != text && !decimal) {
    const auto number = LeadingNumber(plain);
    if (number && number->rest.empty()) return plain;
  }
  const auto first = LeadingNumber(text);
  if (!first || first->rest.empty()) return "";
  const std::string_view rest = first->rest;
  for (const std::string_view power : {"^", "**"}) {
    const auto exponent =
        rest.starts_with(power) ? LeadingNumber(rest.substr(power.size())) : std::nullopt;
    if (exponent && exponent->rest.empty() && first->value == 10)
      return fmt::format("1e{}", exponent->written);
  }
  const auto second = rest.size() > 1 ? LeadingNumber(rest.substr(1)) : std::nullopt;
  const bool two = second && second->rest.empty();
  if (two && rest.front() == '/' && second->value != 0)
    return fmt::format("{:.6g}", first->value / second->value);
  if (two && rest.front() == ',') return fmt::format("{}.{}", first->written, second->written);
  if (rest == "%") return fmt::format("{:.6g}", first->value / 100);
  if (rest == "k" || rest == "K") return fmt::format("{:.15g}", first->value * 1e3);
  if (rest == "M") return fmt::format("{:.15g}", first->value * 1e6);
  return WordIn(rest).size() < 2 ? "" : std::string(first->written);
}

std::string SuggestDuration(std::string_view text) {
  const auto number = LeadingNumber(text);
  if (!number) return "";
  if (number->rest.empty() && number->value == 0) return "";
  if (number->rest.empty()) return fmt::format("write '{}s' if seconds are meant", number->written);
  const std::string word = WordIn(number->rest);
  for (const auto& [unit, words] :
       std::initializer_list<std::pair<const char*, std::vector<std::string_view>>>{
           {"s", {"sec", "secs", "second", "seconds"}},
           {"m", {"min", "mins", "minute", "minutes"}},
           {"h", {"hr", "hrs", "hour", "hours"}},
           {"d", {"day", "days"}}}) {
    if (std::ranges::find(words, word) != words.end())
      return fmt::format("write '{}{}'", number->written, unit);
  }
  const std::string longer = fmt::format("{}m", text);  // "2h30"
  return number->rest.starts_with('h') && ParseDuration(longer) ? fmt::format("write '{}'", longer)
                                                                : "";
}

std::string SuggestSize(std::string_view text) {
  if (text == "unlimited" || text == "none" || text == "inf" || text == "-1")
    return "write a large one, such as '100TB'";
  const auto number = LeadingNumber(text);
  const std::string word = number ? WordIn(number->rest) : "";
  for (const auto& [letter, unit] :
       {std::pair('k', "kB"), std::pair('m', "MB"), std::pair('g', "GB"), std::pair('t', "TB")}) {
    const bool binary = word.size() > 1 && word[1] == 'i';
    const std::string_view whole = !binary         ? unit
                                   : letter == 'k' ? "KiB"
                                   : letter == 'm' ? "MiB"
                                   : letter == 'g' ? "GiB"
                                                   : "TiB";
    const std::string size = number ? fmt::format("{}{}", number->written, whole) : "";
    if (word.starts_with(letter) && size != text && ParseSize(size))
      return fmt::format("write '{}'", size);
  }
  return "";
}

}  // namespace sluice
