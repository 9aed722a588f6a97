#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/study.h"
#include "sim/learning_curve.h"

namespace sluice {

// A report of a trial that ran, as the ledger has it.
struct PastReport {
  LaunchId launch{};
  Time time{};
  Work work = 0;
  double value = 0;  // of the objective
};

// A trial that ran.
struct PastTrial {
  bool complete = false;
  LaunchId launch{};  // the last
  Time started{};     // that one
  Duration busy{0};   // all launches together
  Work work = 0;
  int count = 0;                    // of its reports
  std::vector<PastReport> reports;  // in order; the first of them and an even part of the others
};

// What the trials of a study that ran say of such trials, where they say it.
struct MeasuredWorkload {
  int trials = 0;                          // that were looked at
  std::optional<double> seconds_per_unit;  // of a typical trial
  bool with_start_up = false;    // in that time, since trials that report once tell no difference
  std::optional<double> spread;  // how they differ: deviation of the log of that time
  std::optional<Duration> start_up;
  std::optional<Work> report_every;
  std::optional<Work> length;  // of the complete ones
  std::optional<CurveSpec> curve;
};

// Times are those between reports of one launch, with all that slowed it down, at the width it had.
MeasuredWorkload MeasureWorkload(std::span<const PastTrial> trials, Direction direction);

// The curve of the family `power` that fits trials roughly, by least squares: each has a limit of its own,
// start and half_work are those of all. Limits are taken for what they are where trials came far;
// what was not measured (crossing, accidents) has its default. Nothing where fewer than three trials
// have three values each, or where they do not get better.
std::optional<CurveSpec> FitCurve(std::span<const PastTrial> trials, Direction direction);

}  // namespace sluice
