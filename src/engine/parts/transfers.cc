#include "engine/parts/transfers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace sluice {
namespace {

bool IsSame(const Point& a, const Point& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y));  // not active in either
  });
}

// How much better a new best must be to replace a point in training, as a part of the distance
// between that point and the median of the leader's results. To begin again costs all that was
// trained. Late in a search, new bests come in small steps, each of which would cost as much. The
// value is a guess: not measured.
constexpr double kClearly = 0.1;

// Whether the leader's best is clearly better than its result for another of its points.
bool IsClearlyBetter(const Study& leader, const Point& than) {
  double loss = std::numeric_limits<double>::quiet_NaN();  // of that point
  std::vector<double> losses;
  for (const Trial& trial : leader.trials) {
    const double its = leader.spec.objective.Loss(trial.result);
    if (!std::isfinite(its)) continue;
    losses.push_back(its);
    if (IsSame(trial.point, than) && !(its >= loss)) loss = its;
  }
  if (std::isnan(loss)) return true;
  const auto middle = losses.begin() + std::ssize(losses) / 2;
  std::ranges::nth_element(losses, middle);
  const double gain = loss - leader.spec.objective.Loss(leader.trial(leader.best).result);
  return gain >= kClearly * std::abs(*middle - loss) && gain > 0;
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
  const Policy& policy = state_.PolicyOf(study);
  if (!leader->finished && !policy.TransfersEarly()) return nullptr;
  const Point& best = leader->trial(leader->best).point;
  if (study.trials.empty()) return &best;
  const Point& latest = study.trials.back().point;
  if (IsSame(latest, best)) return nullptr;
  const bool any = leader->finished || policy.transfer_rule() == TransferRule::kEachBest;
  return any || IsClearlyBetter(*leader, latest) ? &best : nullptr;
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
