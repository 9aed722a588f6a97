#include "sim/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace sluice {
namespace {

// The best value by then.
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
  if (study.spec.deadline_after)
    metrics.best_at_deadline = BestAt(fared, fared.arrived + *study.spec.deadline_after);
  metrics.seconds_to_target = SecondsToTarget(study, fared);
  metrics.complete = count(TrialState::kComplete);
  metrics.stopped = count(TrialState::kStopped) + count(TrialState::kPaused);
  metrics.failed = count(TrialState::kFailed);
  return metrics;
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
  const bool devices = result.devices > 0;
  const auto& held = devices ? result.device_seconds : result.core_seconds;
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
    metrics.occupancy =
        static_cast<double>(result.most_shares) / kWhole / static_cast<double>(result.devices);
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

double StudentT975(int degrees) {
  SLUICE_CHECK(degrees >= 1, "an interval needs two values");
  static constexpr std::array kTable = {
      12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
      2.2010,  2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
      2.0796,  2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423};
  if (degrees <= static_cast<int>(kTable.size()))
    return kTable[static_cast<std::size_t>(degrees) - 1];
  // Fisher's expansion around the normal law's quantile.
  const double z = 1.959964;
  const double n = degrees;
  return z + (z * z * z + z) / (4 * n) +
         (5 * z * z * z * z * z + 16 * z * z * z + 3 * z) / (96 * n * n);
}

Estimate EstimateOf(std::span<const double> values) {
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
  const double deviation = std::sqrt(squares / (estimate.count - 1));
  estimate.half_width =
      StudentT975(estimate.count - 1) * deviation / std::sqrt(static_cast<double>(estimate.count));
  return estimate;
}

}  // namespace sluice
