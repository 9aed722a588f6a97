#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

using Duration = std::chrono::microseconds;

// A clock type without now(), because callers pass the time in. Only exec and cli read the real
// clock (WallNow).
struct HandedClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<HandedClock>;
  static constexpr bool is_steady = false;
};

// In a real run, the microseconds since 1970-01-01 UTC. In a simulation, those since its beginning.
using Time = HandedClock::time_point;

constexpr Time kNever = Time::max();

constexpr std::int64_t Micros(Time time) { return time.time_since_epoch().count(); }
constexpr Time FromMicros(std::int64_t micros) { return Time(Duration(micros)); }
constexpr double Seconds(Duration duration) { return static_cast<double>(duration.count()) * 1e-6; }
// Rounds to the nearest microsecond.
Duration FromSeconds(double seconds);

// A duration in its largest units: "850ms", "12s", "3m 20s", "2h 05m", "3d 4h".
std::string FormatDuration(Duration duration);

// Reads "90" (seconds), "1.5s", "500ms", "20m", "1h30m", "2d".
Result<Duration> ParseDuration(std::string_view text);

// A time in UTC, to the second: "2026-01-31T12:00:00Z".
std::string FormatTime(Time time);
// A time in UTC, to the microsecond: "2026-01-31T12:00:00.250000Z".
std::string FormatPreciseTime(Time time);
// Reads what FormatTime writes. Also accepts an offset such as "+02:00" instead of the Z, a space
// instead of the T, and times without seconds. The zone is required.
Result<Time> ParseTime(std::string_view text);

}  // namespace sluice
