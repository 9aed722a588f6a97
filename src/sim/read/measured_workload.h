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

// A report of a trial that ran, from the ledger.
struct PastReport {
  LaunchId launch{};
  Time time{};
  Work work = 0;
  double value = 0;  // of the objective
};

// A trial that ran.
struct PastTrial {
  bool complete = false;
  LaunchId launch{};  // the last launch
  Time started{};     // of the last launch
  Duration busy{0};   // of all launches together
  Work work = 0;
  int count = 0;                    // of its reports
  std::vector<PastReport> reports;  // in order: the first, and a sample of the others
};

// What the trials of an earlier study show about similar trials. A figure that they do not show is
// missing.
struct MeasuredWorkload {
  int trials = 0;                          // how many were examined
  std::optional<double> seconds_per_unit;  // of a typical trial
  // Whether that time includes the start-up. A single report does not separate the two.
  bool with_start_up = false;
  std::optional<double> spread;  // the standard deviation of that time's logarithm
  std::optional<Duration> start_up;
  std::optional<Work> report_every;
  std::optional<Work> length;  // of the complete trials
  std::optional<CurveSpec> curve;
};

// Times are taken between reports of one launch, at the launch's width. They include everything
// that slowed the launch down.
MeasuredWorkload MeasureWorkload(std::span<const PastTrial> trials, Direction direction);

// The curve of the family `power` that fits the trials roughly, by least squares. Each trial has a
// limit of its own; start and half_work are the same for all. A limit better than the best value
// seen counts only for trials that trained at least half as far as the furthest. What was not
// measured (crossing, accidents) has its default. Returns nullopt if fewer than three trials have
// three values each, or if values do not get better.
std::optional<CurveSpec> FitCurve(std::span<const PastTrial> trials, Direction direction);

}  // namespace sluice
