#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "sim/advice.h"
#include "sim/assumptions.h"
#include "sim/metrics.h"

namespace sluice {

// How the study would go under a policy: a run for each of the seeds 1, 2, ...
struct PolicyForecast {
  std::string policy;
  std::string refused;  // why 'sluice tune' would not carry it out; empty: it would
  std::vector<RunMetrics> runs;
  std::optional<std::size_t> same_as;  // index of an earlier forecast with the same figures
};

struct LeftOut {
  std::string policy;
  std::string reason;
};

// Everything a plan has found.
struct StudyPlan {
  AssumedStudy assumed;
  std::string cluster;  // "this machine"
  std::vector<Node> nodes;
  std::string measured_in;  // the study that figures were measured in
  std::vector<PolicyForecast> forecasts;
  std::vector<LeftOut> left_out;
  int seeds = 0;
  bool by_value = false;  // compared by the best value at the deadline, else by makespan
  std::vector<std::size_t> contenders;  // indices of forecasts, one of each that are the same
  Advice advice;                        // its numbers are indices of contenders

  const StudySpec& spec() const { return assumed.study.spec; }
  bool on_devices() const { return spec().demand.gpus > 0; }
  const PolicyForecast& contender(std::size_t number) const {
    return forecasts[contenders[number]];
  }
};

// Compares the forecasts and sets the members of the plan after `seeds`. At least one of the
// policies must be one that 'sluice tune' carries out.
void Conclude(StudyPlan& plan);

// Why the advice is what it is, a sentence each.
std::vector<std::string> Reasons(const StudyPlan& plan);

// The figures of one run.
using OfRun = std::function<double(const RunMetrics&)>;
double BestAtDeadline(const RunMetrics& run);
OfRun OfTrials(int StudyMetrics::* member);
OfRun Makespan(const StudyPlan& plan);    // in seconds, or in trials
OfRun DeviceTime(const StudyPlan& plan);  // of GPUs or cores, in hours, or in trials
std::vector<double> ValuesOf(const PolicyForecast& forecast, const OfRun& value);
// A makespan, or a part of one.
std::string TimeText(const StudyPlan& plan, double time);
// "assumed", "measured in study fashion"
std::string OriginText(const StudyPlan& plan, Origin origin);

}  // namespace sluice
