#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "engine/event.h"
#include "sim/learning_curve.h"
#include "sim/world/shared_devices.h"

namespace sluice {

// What a launch does with the devices it holds.
enum class Phase : std::uint8_t { kStartUp, kRun, kSave };
constexpr std::size_t kPhases = 3;

// A launch that lives, in the fast simulation.
struct SimulatedLaunch {
  TrialKey trial;
  LaunchId id{};
  std::uint32_t version = 0;  // of its next moment; moments of older versions are ignored
  Phase phase = Phase::kStartUp;
  bool leaving = false;
  bool idle = false;   // at its target, without a verdict
  bool saves = false;  // a checkpoint of `work`, before it leaves
  Ending ending = Ending::kDone;
  std::string reason;
  std::uint64_t seq = 0;
  Work work = 0;       // done and reported, or restored
  Work next_work = 0;  // of the next report
  Work target = 0;
  Work known_work = 0;  // reported by earlier launches
  double rate = 0;      // units a second
  double spread = 1;    // the trial's own factor on the rate
  double progress = 0;  // units done beyond `work`, at the time `since`
  Time since{};
  Time phase_began{};
  std::optional<Tenant> tenant;      // set while it shares its devices (SharedDevices::Join)
  SharedDevices::Others neighbours;  // what others take of its devices
  Grant grant;
  LearningCurve curve;

  bool Works() const { return phase == Phase::kRun && !idle; }

  void Advance(Time now) {
    if (Works()) progress += rate * Seconds(now - since);
    since = now;
  }

  Time ReportDue() const {
    constexpr double kLongestSeconds = 1e12;  // longer than any simulation
    const double left_s = (static_cast<double>(next_work - work) - progress) / rate;
    const auto micros =
        static_cast<std::int64_t>(std::llround(std::clamp(left_s, 0.0, kLongestSeconds) * 1e6));
    return since + Duration(std::max<std::int64_t>(micros, 1));
  }
};

}  // namespace sluice
