#pragma once

// For tests: what must be true of an engine after every event, whatever happened.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/legal_change.h"

namespace sluice {

class Invariants {
 public:
  // To be called after each event, in order. Returns the first invariant that is broken, in words;
  // empty if none is. The engine has one study, on this node. `given` are all points that were
  // enqueued so far. `retry`: the last event asked for a retry of a trial.
  std::string Broken(const Engine& engine, const Study& s, const Node& node,
                     const std::vector<Point>& given, bool retry);

 private:
  std::vector<TrialState> states_;  // the trials' states at the last call
};

inline std::string Invariants::Broken(const Engine& engine, const Study& s, const Node& node,
                                      const std::vector<Point>& given, bool retry) {
  std::string broken;
  const auto say = [&](std::string problem) {
    if (broken.empty()) broken = std::move(problem);
  };
  std::array<int, kTrialStates> counts{};
  std::int64_t saved = 0;
  std::int64_t held = 0;
  Milli cpus = 0;
  std::vector<Milli> shares(node.devices.size());
  TrialId best{};
  int forks = 0;
  for (const Trial& trial : s.trials) {
    ++counts[static_cast<std::size_t>(trial.state)];
    saved += trial.saved_bytes;
    if (trial.state == TrialState::kRunning || trial.id == s.best) held += trial.saved_bytes;
    forks += trial.IsFork() ? 1 : 0;
    if (trial.IsFork() && trial.work < trial.forked_at)
      say("a fork has less work than the checkpoint it was forked from");
    if (trial.IsFork() && trial.HasResult() && trial.result_work <= trial.forked_at)
      say("a fork has its parent's result");
    const std::size_t index = Number(trial.id) - 1;
    if (index < states_.size() && !IsLegalChange(states_[index], trial.state, retry)) {
      say(fmt::format("trial {} went from {} to {}", Number(trial.id), Name(states_[index]),
                      Name(trial.state)));
    }
    if (trial.target > s.spec.stopper.max_budget) say("a target beyond the full budget");
    if (trial.failures > static_cast<std::uint32_t>(s.spec.retries) + 1)
      say("more failures than retries allow");
    if (trial.HasResult() && (!IsSet(best) || s.spec.objective.Loss(trial.result) <
                                                  s.spec.objective.Loss(s.trial(best).result)))
      best = trial.id;
    if (trial.state != TrialState::kRunning) continue;
    cpus += trial.launch.grant.cpus;
    for (DeviceId device : trial.launch.grant.devices)
      shares[Number(device)] += trial.launch.grant.gpu_share;
  }
  states_.clear();
  for (const Trial& trial : s.trials) states_.push_back(trial.state);
  if (counts != s.counts) say("the counts are not those of the trials");
  if (cpus > node.cpus || std::ranges::any_of(shares, [](Milli share) { return share > kWhole; }))
    say("over-committed");
  if (!engine.cluster().nodes().empty() && engine.cluster().FreeCpus(NodeId{1}) != node.cpus - cpus)
    say("the cluster's books are wrong");
  if (saved != s.checkpoint_bytes) say("checkpoint bytes do not add up");
  if (saved > s.spec.checkpoint_cap_bytes && saved != held) say("checkpoints beyond their cap");
  if (IsSet(best) && s.trial(best).result != s.trial(s.best).result)
    say("the study's best trial does not have the best result");
  const auto in_state = [&](const std::vector<TrialId>& ids, TrialState state) {
    std::vector<TrialId> sorted = ids;
    std::ranges::sort(sorted);
    return std::ranges::unique(sorted).empty() &&
           ids.size() == static_cast<std::size_t>(s.count(state)) &&
           std::ranges::all_of(ids, [&](TrialId id) { return s.trial(id).state == state; });
  };
  if (!in_state(s.running, TrialState::kRunning)) say("the list of running trials is wrong");
  if (!in_state(s.waiting, TrialState::kWaiting)) say("the list of waiting trials is wrong");
  if (s.spec.parallelism > 0 && static_cast<int>(s.running.size()) > s.spec.parallelism)
    say("too many at once");
  if (forks != s.forks) say("the forks are not counted");
  if (static_cast<int>(s.trials.size()) - forks > s.trials_wanted) say("more trials than wanted");
  if (s.finished && !s.running.empty()) say("finished while a trial runs");
  const bool synchronous = s.spec.stopper.name == "sha" || s.spec.stopper.name == "hyperband" ||
                           s.spec.stopper.name == "pbt";
  const bool through = s.ending == Finish::kTrials || s.ending == Finish::kExhausted;
  if (s.finished && through && synchronous && s.count(TrialState::kPaused) > 0)
    say("finished while a paused trial has no verdict yet");
  std::vector<Point> tried;
  for (const Trial& trial : s.trials) {
    if (trial.enqueued) tried.push_back(trial.point);
  }
  tried.insert(tried.end(), s.queue.begin(), s.queue.end());
  if (tried != given || s.enqueued != given.size())
    say("enqueued points are lost, doubled or out of order");
  return broken;
}

}  // namespace sluice
