#include "sim/metrics.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "space/special.h"

namespace sluice {
namespace {

// The best value reported until this time.
double BestAt(const StudyResult& study, Time time) {
  double best = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [when, value] : study.incumbents) {
    if (when <= time) best = value;
  }
  return best;
}

double SecondsToTarget(const ScenarioStudy& study, const StudyResult& fared) {
  for (const auto& [when, value] : fared.incumbents) {
    for (const StopAt& goal : study.spec.stop_at) {
      if (goal.metric == study.spec.objective.metric && goal.Reached(value))
        return Seconds(when - fared.arrived);
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

StudyMetrics MetricsOf(const ScenarioStudy& study, const StudyResult& fared) {
  const auto count = [&](TrialState state) {
    return fared.counts[static_cast<std::size_t>(state)];
  };
  StudyMetrics metrics;
  metrics.study = fared.name;
  metrics.completion_seconds = Seconds(fared.finished - fared.arrived);
  if (!fared.incumbents.empty()) metrics.best = fared.incumbents.back().second;
  // A value reported later cannot be saved by the deadline, whether the policy knew that or not.
  if (study.spec.deadline_after) {
    metrics.best_at_deadline =
        BestAt(fared, fared.arrived + *study.spec.deadline_after - study.workload.save);
  }
  metrics.seconds_to_target = SecondsToTarget(study, fared);
  metrics.complete = count(TrialState::kComplete);
  metrics.stopped = count(TrialState::kStopped) + count(TrialState::kPaused);
  metrics.failed = count(TrialState::kFailed);
  metrics.cut_off = fared.finish == Finish::kDeadline;
  return metrics;
}

// The mean, with the standard deviation of the values as half_width.
Estimate MeanOf(std::span<const double> values) {
  Estimate estimate;
  double sum = 0;
  for (const double value : values) {
    if (std::isnan(value)) {
      ++estimate.missing;
    } else {
      sum += value;
      ++estimate.count;
    }
  }
  if (estimate.count == 0) return estimate;
  estimate.mean = sum / estimate.count;
  if (estimate.count == 1) return estimate;
  double squares = 0;
  for (const double value : values) {
    if (!std::isnan(value)) squares += (value - estimate.mean) * (value - estimate.mean);
  }
  estimate.half_width = std::sqrt(squares / (estimate.count - 1));
  return estimate;
}

}  // namespace

RunMetrics MetricsOf(const Scenario& scenario, const SimulationResult& result, bool measured) {
  SLUICE_CHECK(scenario.studies.size() == result.studies.size(), "every study has fared somehow");
  RunMetrics metrics;
  Time first = result.end;
  for (std::size_t i = 0; i < result.studies.size(); ++i) {
    first = std::min(first, result.studies[i].arrived);
    metrics.studies.push_back(MetricsOf(scenario.studies[i], result.studies[i]));
    metrics.mean_completion_seconds += metrics.studies.back().completion_seconds;
  }
  metrics.mean_completion_seconds /= static_cast<double>(result.studies.size());
  metrics.makespan_seconds = Seconds(result.end - first);
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    metrics.device_seconds += result.usage.device_seconds[phase];
    metrics.core_seconds += result.usage.core_seconds[phase];
  }
  const bool devices = result.devices > 0;
  const auto& held = devices ? result.usage.device_seconds : result.usage.core_seconds;
  const double capacity =
      metrics.makespan_seconds *
      (devices ? static_cast<double>(result.devices) : static_cast<double>(result.cpus) / kWhole);
  if (capacity > 0) {
    metrics.utilisation = held[static_cast<std::size_t>(Phase::kRun)] / capacity;
    metrics.overhead = (held[static_cast<std::size_t>(Phase::kStartUp)] +
                        held[static_cast<std::size_t>(Phase::kSave)]) /
                       capacity;
  }
  if (devices) {
    metrics.occupancy = static_cast<double>(result.usage.most_shares) / kWhole /
                        static_cast<double>(result.devices);
  }
  metrics.decisions = result.decisions.plans;
  metrics.unproven = result.decisions.unproven;
  metrics.events = result.events;
  if (measured && result.decisions.plans > 0) {
    metrics.mean_decision_seconds = static_cast<double>(result.decisions.ns) * 1e-9 /
                                    static_cast<double>(result.decisions.plans);
    metrics.longest_decision_seconds = static_cast<double>(result.decisions.longest_ns) * 1e-9;
  }
  return metrics;
}

double StudentT(int degrees, double chance) {
  SLUICE_CHECK(degrees >= 1, "an interval needs two values");
  // n / (n + t^2) has a beta distribution.
  const double n = degrees;
  const double x = BetaQuantile(chance, n / 2, 0.5);
  return std::sqrt(n * (1 - x) / x);
}

Estimate EstimateOf(std::span<const double> values, double chance) {
  Estimate estimate = MeanOf(values);
  if (estimate.count < 2) return estimate;
  estimate.half_width =
      StudentT(estimate.count - 1, chance) * estimate.half_width / std::sqrt(estimate.count);
  return estimate;
}

Estimate ForecastOf(std::span<const double> values) {
  Estimate estimate = MeanOf(values);
  if (estimate.count < 2) return estimate;
  estimate.half_width *= StudentT(estimate.count - 1, 0.05) * std::sqrt(1 + 1.0 / estimate.count);
  return estimate;
}

}  // namespace sluice
