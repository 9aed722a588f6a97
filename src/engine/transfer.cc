// A study that transfers trains the best point of another study, its leader, and nothing else. So
// the winner of a search over small models is trained at full size.

#include <algorithm>
#include <cmath>

#include "engine/engine.h"

namespace sluice {
namespace {

bool IsSame(const Point& a, const Point& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y));  // not active in either
  });
}

}  // namespace

const Study* Engine::LeaderOf(const Study& study) const {
  return study.spec.transfer.empty() ? nullptr : FindStudy(study.spec.transfer);
}

bool Engine::IsFollowed(const Study& study) const {
  return std::ranges::any_of(studies_, [&](const auto& other) {
    return !other->finished && other->spec.transfer == study.spec.name;
  });
}

// The best point of the leader, unless the latest trial has it already. Nothing before the leader
// has finished, unless the policy transfers early.
const Point* Engine::ToTransfer(const Study& study) const {
  const Study* leader = LeaderOf(study);
  if (leader == nullptr || !IsSet(leader->best)) return nullptr;
  if (!leader->finished && !policy_->TransfersEarly()) return nullptr;
  const Point& best = leader->trial(leader->best).point;
  const bool tried = !study.trials.empty() && IsSame(study.trials.back().point, best);
  return tried ? nullptr : &best;
}

// Makes a trial of the point to transfer, and ends the trials of earlier points.
bool Engine::Transfer(Study& study) {
  const Point* best = ToTransfer(study);
  if (best == nullptr) return false;
  for (Trial& trial : study.trials) {
    if (trial.state == TrialState::kRunning && !trial.leaving) {
      Leave(study, trial, StopReason::kStopped);
    } else if (trial.state == TrialState::kWaiting || trial.state == TrialState::kPaused) {
      Close(study, trial, TrialState::kStopped);
    }
  }
  MakeTrial(study, *best);
  return true;
}

// Whether all trials of the study were made, as far as is known.
bool Engine::AllMade(const Study& study) const {
  if (!study.spec.transfer.empty()) {
    const Study* leader = LeaderOf(study);
    return leader != nullptr && leader->finished && ToTransfer(study) == nullptr;
  }
  return (study.exhausted && study.queue.empty()) || study.proposed() >= study.trials_wanted;
}

// The fraction of its leader's trials that are over; 1 without a leader, or once it has finished.
double Engine::LeaderProgress(const Study& study) const {
  const Study* leader = LeaderOf(study);
  if (leader == nullptr || leader->finished) return 1;
  const int ended = leader->count(TrialState::kComplete) + leader->count(TrialState::kStopped) +
                    leader->count(TrialState::kFailed);
  return static_cast<double>(ended) / std::max(1, leader->trials_wanted);
}

}  // namespace sluice
