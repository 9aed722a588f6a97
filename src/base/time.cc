#include "base/time.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

namespace sluice {
namespace {

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
constexpr double kLongestSeconds = 100.0 * 365 * 86400;

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array kUnits = {Unit{"ms", 1e-3},  Unit{"s", 1.0},    Unit{"m", 60.0},
                               Unit{"min", 60.0}, Unit{"h", 3600.0}, Unit{"d", 86400.0}};

std::unexpected<Error> BadDuration(std::string_view text) {
  return InvalidArgument(
      fmt::format("expected a duration such as 90s, 20m, 1h30m or 2d, found '{}'", text));
}

bool ReadDigits(std::string_view& text, std::size_t count, int& out) {
  if (text.size() < count) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, out);
  if (error != std::errc() || end != text.data() + count || out < 0) return false;
  text.remove_prefix(count);
  return true;
}

bool Skip(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

Duration FromSeconds(double seconds) { return Duration(std::llround(seconds * 1e6)); }

std::string FormatDuration(Duration duration) {
  const std::int64_t micros = duration.count();
  if (micros < 0) return "-" + FormatDuration(-duration);
  if (micros < kMicrosPerSecond) return fmt::format("{}ms", micros / 1000);
  const std::int64_t seconds = micros / kMicrosPerSecond;
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m {:02}s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{}h {:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d {}h", seconds / 86400, seconds / 3600 % 24);
}

Result<Duration> ParseDuration(std::string_view text) {
  std::string_view rest = text;
  double total_seconds = 0;
  bool first = true;
  if (rest.empty()) return BadDuration(text);
  while (!rest.empty()) {
    double amount = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), amount);
    if (error != std::errc() || !std::isfinite(amount) || amount < 0) return BadDuration(text);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    while (Skip(rest, " ")) {
    }
    const std::size_t length = std::min(rest.find_first_of("0123456789. "), rest.size());
    const std::string_view name = rest.substr(0, length);
    double unit_seconds = name.empty() && first && rest.empty() ? 1.0 : 0.0;
    for (const Unit& unit : kUnits) {
      if (unit.name == name) unit_seconds = unit.seconds;
    }
    if (unit_seconds == 0) return BadDuration(text);
    rest.remove_prefix(length);
    while (Skip(rest, " ")) {
    }
    total_seconds += amount * unit_seconds;
    first = false;
  }
  if (total_seconds > kLongestSeconds) return BadDuration(text);
  return FromSeconds(total_seconds);
}

namespace {

// Uses no formatting library, for speed: an export may format millions of times.
std::string FormatTimeWith(Time time, bool precise) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(
      std::chrono::sys_days(std::chrono::days(day.time_since_epoch())));
  const auto second_of_day = static_cast<unsigned>((seconds - day).count());
  const auto micros = static_cast<unsigned>((time - seconds).count());
  std::string text = "0000-00-00T00:00:00.000000Z";
  const auto put = [&](std::size_t at, std::size_t digits, unsigned value) {
    for (std::size_t i = digits; i-- > 0; value /= 10) {
      text[at + i] = static_cast<char>('0' + value % 10);
    }
  };
  put(0, 4, static_cast<unsigned>(static_cast<int>(date.year())));
  put(5, 2, static_cast<unsigned>(date.month()));
  put(8, 2, static_cast<unsigned>(date.day()));
  put(11, 2, second_of_day / 3600);
  put(14, 2, second_of_day / 60 % 60);
  put(17, 2, second_of_day % 60);
  put(20, 6, micros);
  if (!precise) text.erase(19, 7);
  return text;
}

}  // namespace

std::string FormatTime(Time time) { return FormatTimeWith(time, /*precise=*/false); }
std::string FormatPreciseTime(Time time) { return FormatTimeWith(time, /*precise=*/true); }

Result<Time> ParseTime(std::string_view text) {
  const auto bad = [&] {
    return InvalidArgument(
        fmt::format("expected a time with its zone such as 2026-01-31T18:00:00Z or "
                    "2026-01-31T18:00:00+02:00, found '{}'",
                    text));
  };
  std::string_view rest = text;
  std::tm parts{};
  int year = 0;
  int month = 0;
  if (!ReadDigits(rest, 4, year) || !Skip(rest, "-") || !ReadDigits(rest, 2, month) ||
      !Skip(rest, "-") || !ReadDigits(rest, 2, parts.tm_mday) || !Skip(rest, "T ") ||
      !ReadDigits(rest, 2, parts.tm_hour) || !Skip(rest, ":") ||
      !ReadDigits(rest, 2, parts.tm_min)) {
    return bad();
  }
  if (Skip(rest, ":") && !ReadDigits(rest, 2, parts.tm_sec)) return bad();
  if (month < 1 || month > 12 || parts.tm_mday < 1 || parts.tm_mday > 31 || parts.tm_hour > 23 ||
      parts.tm_min > 59 || parts.tm_sec > 59) {
    return bad();
  }
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  std::int64_t zone_seconds = 0;
  if (!Skip(rest, "Zz")) {
    if (rest.empty()) return bad();
    const int sign = rest.front() == '-' ? -1 : 1;
    int hours = 0;
    int minutes = 0;
    if (!Skip(rest, "+-") || !ReadDigits(rest, 2, hours)) return bad();
    Skip(rest, ":");
    if (!rest.empty() && !ReadDigits(rest, 2, minutes)) return bad();
    if (hours > 14 || minutes > 59) return bad();
    zone_seconds = sign * (hours * 3600 + minutes * 60);
  }
  if (!rest.empty()) return bad();
  const int day = parts.tm_mday;
  const std::int64_t seconds = timegm(&parts);
  if (parts.tm_mday != day) return bad();  // no such day in this month
  return FromMicros((seconds - zone_seconds) * kMicrosPerSecond);
}

}  // namespace sluice
