#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/read/scenario.h"
#include "sim/simulation.h"

namespace sluice {

// What one run was worth. Times in seconds of the simulation; NaN for what there is not.
struct StudyMetrics {
  std::string study;
  double completion_seconds = 0;  // from its arrival to its end
  double best = std::numeric_limits<double>::quiet_NaN();
  double best_at_deadline = std::numeric_limits<double>::quiet_NaN();   // of those with a deadline
  double seconds_to_target = std::numeric_limits<double>::quiet_NaN();  // from its arrival
  int complete = 0;
  int stopped = 0;
  int failed = 0;
  bool cut_off = false;  // by its deadline
};

struct RunMetrics {
  double makespan_seconds = 0;         // from the first arrival to the end of the last study
  double mean_completion_seconds = 0;  // of the studies
  // The part of all devices (of all cores, where there are none) that launches held and worked on in
  // that time, and the part that went into starting up, restoring and saving.
  double utilisation = 0;
  double overhead = 0;
  double occupancy =
      std::numeric_limits<double>::quiet_NaN();  // of all devices, held at once at most
  double mean_decision_seconds = std::numeric_limits<double>::quiet_NaN();
  double longest_decision_seconds = std::numeric_limits<double>::quiet_NaN();
  std::int64_t decisions = 0;
  std::int64_t unproven = 0;  // of them, those that may not be the best plan
  std::int64_t events = 0;
  double device_seconds = 0;  // that launches held, by share
  double core_seconds = 0;    // the same of launches without devices
  std::vector<StudyMetrics> studies;
};

// `measured` says that there was a stopwatch.
RunMetrics MetricsOf(const Scenario& scenario, const SimulationResult& result, bool measured);

// A mean over seeds with its 95 % interval by Student's t: mean - half_width to mean + half_width; or
// with the interval outside of which it is with another chance. Of one value the width is not known
// and NaN. NaN among the values are left out and counted by `missing`.
struct Estimate {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double half_width = std::numeric_limits<double>::quiet_NaN();
  int count = 0;
  int missing = 0;
};
Estimate EstimateOf(std::span<const double> values, double chance = 0.05);

// Where the value of one run more would fall, 95 times in 100, if values are normal: by Student's t,
// mean - half_width to mean + half_width. Otherwise as EstimateOf.
Estimate ForecastOf(std::span<const double> values);

// How far from 0, to either side, Student's t of so many degrees of freedom is with this chance at
// most: 2.78 of 4 degrees and 0.05.
double StudentT(int degrees, double chance);

}  // namespace sluice
