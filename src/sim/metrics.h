#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/read/scenario.h"
#include "sim/simulation.h"

namespace sluice {

// The results of one run. Times are in seconds of the simulation; NaN: there is no such value.
struct StudyMetrics {
  std::string study;
  double completion_seconds = 0;  // from its arrival to its end
  double best = std::numeric_limits<double>::quiet_NaN();
  double best_at_deadline = std::numeric_limits<double>::quiet_NaN();   // NaN without a deadline
  double seconds_to_target = std::numeric_limits<double>::quiet_NaN();  // from its arrival
  int complete = 0;
  int stopped = 0;
  int failed = 0;
  bool cut_off = false;  // by its deadline
};

struct RunMetrics {
  double makespan_seconds = 0;         // from the first arrival to the end of the last study
  double mean_completion_seconds = 0;  // of the studies
  // Fractions of the time of all devices, or of all cores if there are no devices.
  double utilisation = 0;  // in which launches held them and worked
  double overhead = 0;     // in which launches held them, and started up, restored or saved
  // The largest fraction of all devices that was held at one moment; NaN if there are no devices.
  double occupancy = std::numeric_limits<double>::quiet_NaN();
  double mean_decision_seconds = std::numeric_limits<double>::quiet_NaN();
  double longest_decision_seconds = std::numeric_limits<double>::quiet_NaN();
  std::int64_t decisions = 0;
  std::int64_t unproven = 0;  // decisions with a plan that may not be the best
  std::int64_t events = 0;
  double device_seconds = 0;  // how long launches held devices, weighted by share
  double core_seconds = 0;    // how long launches without devices held cores
  std::vector<StudyMetrics> studies;
};

// `measured`: the run had a stopwatch. Without one, the times of decisions are NaN.
RunMetrics MetricsOf(const Scenario& scenario, const SimulationResult& result, bool measured);

// A mean over seeds with its interval by Student's t: mean - half_width to mean + half_width. The
// true mean is outside the interval with the given chance, by default 5 %. With a single value the
// width is not known and NaN. Values that are NaN are left out and counted by `missing`.
struct Estimate {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double half_width = std::numeric_limits<double>::quiet_NaN();
  int count = 0;
  int missing = 0;
};
Estimate EstimateOf(std::span<const double> values, double chance = 0.05);

// The interval in which the value of one more run would fall, 95 times in 100, if values are
// normal: by Student's t, mean - half_width to mean + half_width. Missing values and single values
// are treated as by EstimateOf.
Estimate ForecastOf(std::span<const double> values);

// A quantile of Student's t with so many degrees of freedom: the chance of a value farther from 0,
// on either side, is `chance`. It is 2.78 for 4 degrees and a chance of 0.05.
double StudentT(int degrees, double chance);

}  // namespace sluice
