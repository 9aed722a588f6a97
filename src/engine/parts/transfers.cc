#include "engine/parts/transfers.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

bool IsSame(const Point& a, const Point& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y));  // not active in either
  });
}

}  // namespace

const Study* Transfers::LeaderOf(const Study& study) const {
  return study.spec.transfer.empty() ? nullptr : state_.FindStudy(study.spec.transfer);
}

bool Transfers::PlanFollowers(const Study& leader) {
  bool any = false;
  for (auto& study : state_.studies) {
    const bool follows = !study->finished && study->spec.transfer == leader.spec.name;
    if (!follows || !(leader.finished || state_.PolicyOf(*study).TransfersEarly())) continue;
    study->replan = any = true;
  }
  return any;
}

const Point* Transfers::Next(const Study& study) const {
  const Study* leader = LeaderOf(study);
  if (leader == nullptr || !IsSet(leader->best)) return nullptr;
  if (!leader->finished && !state_.PolicyOf(study).TransfersEarly()) return nullptr;
  const Point& best = leader->trial(leader->best).point;
  const bool tried = !study.trials.empty() && IsSame(study.trials.back().point, best);
  return tried ? nullptr : &best;
}

bool Transfers::AllMade(const Study& study) const {
  if (!study.spec.transfer.empty()) {
    const Study* leader = LeaderOf(study);
    return leader != nullptr && leader->finished && Next(study) == nullptr;
  }
  return (study.exhausted && study.queue.empty()) || study.proposed() >= study.trials_wanted;
}

int Transfers::Left(const Study& study) const {
  if (!study.spec.transfer.empty()) return Next(study) != nullptr ? 1 : 0;
  return study.exhausted ? static_cast<int>(study.queue.size()) : study.room();
}

bool Transfers::MayMakeMore(const Study& study) const {
  return study.spec.transfer.empty() || Next(study) != nullptr;
}

double Transfers::LeaderProgress(const Study& study) const {
  const Study* leader = LeaderOf(study);
  if (leader == nullptr || leader->finished) return 1;
  const int ended = leader->count(TrialState::kComplete) + leader->count(TrialState::kStopped) +
                    leader->count(TrialState::kFailed);
  return static_cast<double>(ended) / std::max(1, leader->trials_wanted);
}

}  // namespace sluice
