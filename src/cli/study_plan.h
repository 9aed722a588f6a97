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

// The simulated runs of the study under one policy, one run for each of the seeds 1, 2, ...
struct PolicyForecast {
  std::string policy;
  std::string refused;  // why 'sluice tune' refuses the policy; empty: it does not
  std::vector<RunMetrics> runs;
  std::optional<std::size_t> same_as;  // index of an earlier forecast with the same figures
};

// A policy that was not simulated, and why.
struct LeftOut {
  std::string policy;
  std::string reason;
};

// The findings of 'sluice plan' about a study.
struct StudyPlan {
  AssumedStudy assumed;
  std::string cluster;  // "this machine"
  std::vector<Node> nodes;
  std::string measured_in;  // the earlier study that figures are taken from; empty: none
  std::vector<PolicyForecast> forecasts;
  std::vector<LeftOut> left_out;
  int seeds = 0;
  bool by_value = false;  // compares policies by the best value at the deadline, not by makespan
  std::vector<std::size_t> contenders;  // indices of the forecasts that differ in their figures
  Advice advice;                        // its numbers are indices into `contenders`

  const StudySpec& spec() const { return assumed.study.spec; }
  bool on_devices() const { return spec().demand.gpus > 0; }
  const PolicyForecast& contender(std::size_t number) const {
    return forecasts[contenders[number]];
  }
};

// Compares the forecasts, and sets the members of the plan that come after `seeds`. 'sluice tune'
// must accept at least one of the policies.
void Conclude(StudyPlan& plan);

// The reasons for the advice. Each is one sentence.
std::vector<std::string> Reasons(const StudyPlan& plan);

// A function that takes one figure from a run.
using OfRun = std::function<double(const RunMetrics&)>;
double BestAtDeadline(const RunMetrics& run);
OfRun OfTrials(int StudyMetrics::* member);
// In seconds. If the plan counts time in trials, as a multiple of the time that one trial takes.
OfRun Makespan(const StudyPlan& plan);
// The time for which launches hold GPUs (cores, if the study uses no GPU), added up over all GPUs.
// In hours. If the plan counts time in trials, as a multiple of the time that one trial takes.
OfRun DeviceTime(const StudyPlan& plan);
std::vector<double> ValuesOf(const PolicyForecast& forecast, const OfRun& value);
// A makespan, or a difference of two, in the unit of Makespan.
std::string TimeText(const StudyPlan& plan, double time);
// Where a figure comes from: "assumed", "measured in study fashion".
std::string OriginText(const StudyPlan& plan, Origin origin);

}  // namespace sluice
