#include "control/assignment.h"

#include <fmt/format.h>

#include <charconv>

#include "base/random.h"

namespace sluice {

std::string WorkerName(wire::LaunchRef at) {
  return fmt::format("{}.{}", Number(at.trial), Number(at.launch));
}

std::optional<wire::LaunchRef> ParseWorkerName(std::string_view name) {
  std::uint32_t trial = 0;
  std::uint32_t launch = 0;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, trial);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, launch);
  if (second.ec != std::errc() || second.ptr != end || trial == 0 || launch == 0)
    return std::nullopt;
  return wire::LaunchRef{TrialId(trial), LaunchId(launch)};
}

wire::Assign MakeAssign(const Study& study, const Trial& trial, const LaunchPlaces& places) {
  wire::Assign assign;
  assign.study = study.spec.name;
  assign.at = {trial.id, trial.launch.id};
  assign.params = study.spec.space.Encode(trial.point);
  if (trial.target != kNoLimit) assign.target = trial.target;
  assign.work = trial.work;
  assign.checkpoint_dir = places.checkpoint;
  assign.folder = places.folder;
  // Only 31 bits, since every library takes a seed of that size.
  assign.seed = Random(study.seed).Fork("trial").Fork(Number(trial.id)).Next() >> 33;
  assign.unit = study.spec.unit;
  const Objective& objective = study.spec.objective;
  assign.objective = objective.metric;
  assign.maximize = objective.direction == Direction::kMaximize;
  assign.last_counts = objective.of == Of::kLast;
  if (!assign.last_counts && trial.HasResult()) {
    assign.best = trial.result;
    assign.best_work = trial.result_work;
  }
  assign.lease_ms = study.spec.timeouts.lease.count() / 1000;
  return assign;
}

}  // namespace sluice
