#include "engine/parts/divider.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "cluster/width.h"
#include "policy/fusion.h"

namespace sluice {
namespace {

// More than any cluster has room for.
constexpr int kAllThereIs = std::numeric_limits<int>::max();

bool IsResized(const Study& study) {
  return study.policy->LooksAtRunning() && IsElastic(study.demand);
}

// How many trials one program of the study trains.
int FusedOf(const Study& study) {
  return study.policy->traits().can.fuses ? MostFused(study.demand, study.capacity) : 1;
}

// What the running trials of a study are expected to take of the cluster, times seconds, if each
// launch takes this many seconds.
double StillToTake(const EngineState& state, const Study& study, double seconds,
                   const ClusterSize& size) {
  double total = 0;
  for (const TrialId id : study.running) {
    const Launch& launch = study.trial(id).launch;
    const double left = seconds - Seconds(state.now - launch.started);
    const int members = std::max(1, state.cluster.BundleSize(launch.grant.bundle));
    if (left > 0) total += left * size.PartOf(HeldWith(launch.grant)) / members;
  }
  return total;
}

}  // namespace

bool Division::IsFor(StudyId study) const {
  return std::ranges::any_of(reserved_, [study](const Reservation& reservation) {
    return reservation.study == study && reservation.enough;
  });
}

Cluster Division::PartOf(const Cluster& cluster, const Study& study) const {
  Cluster taken = cluster.Hiding(study.hidden);
  for (const Reservation& reservation : reserved_) {
    if (reservation.study != study.id) taken.TakeAsMeasured(reservation.grant);
  }
  // A policy that starts trials on what is free needs to know no more.
  if (!study.policy->LooksAtRunning()) return taken;
  Cluster others = taken;
  for (const TrialId id : study.running) others.Release(study.trial(id).launch.grant);
  return taken.Without(others);
}

Division Divider::Divide() {
  if (!AreShared()) return {};
  std::vector<Sharer> sharers;
  demands_.clear();
  if (IsAnythingFree(state_.cluster)) {
    const ClusterSize size(state_.cluster);
    const double usual_seconds = UsualSeconds();
    for (const auto& study : state_.studies) {
      if (study->active()) sharers.push_back(SharerOf(*study, usual_seconds, size));
    }
    YieldToLeaders(sharers);
    ForgiveIdleTime(sharers);
  }
  return Division(sluice::Divide(state_.cluster, std::move(sharers)));
}

// A study that starts before its leader has ended takes only what the leader leaves. Before enough
// of the leader's trials are over it starts nothing, and so no room is kept for it.
void Divider::YieldToLeaders(std::vector<Sharer>& sharers) {
  const bool any = std::ranges::any_of(
      state_.studies, [](const auto& study) { return !study->spec.transfer.empty(); });
  if (!any) return;
  std::map<StudyId, int> wants;
  for (const Sharer& sharer : sharers) wants[sharer.study] = sharer.wants;
  for (Sharer& sharer : sharers) {
    const Study& study = state_.study(sharer.study);
    const Study* leader = transfers_.LeaderOf(study);
    if (leader == nullptr || leader->finished) continue;
    const bool early = transfers_.LeaderProgress(study) < kTransferFrom;
    if (early || wants[leader->id] > 0) sharer.wants = 0;
  }
}

// Time in which a study had nothing to start is no credit: once it has work again, it has had as
// much for its weight as the study that has had least. Otherwise it would get every device for as
// long as it was idle.
void Divider::ForgiveIdleTime(std::vector<Sharer>& sharers) {
  state_.SettleUse();
  const auto had = [this](const Sharer& sharer) {
    return state_.study(sharer.study).use.had / sharer.weight;
  };
  double least = std::numeric_limits<double>::infinity();
  for (const Sharer& sharer : sharers) {
    if (sharer.wants > 0 && state_.study(sharer.study).use.wanted)
      least = std::min(least, had(sharer));
  }
  for (Sharer& sharer : sharers) {
    Study& study = state_.study(sharer.study);
    if (study.declined) {  // it had nothing to start
      study.use.wanted = false;
      continue;
    }
    const bool wanted = std::exchange(study.use.wanted, sharer.wants > 0);
    const double missed = (least - had(sharer)) * sharer.weight;
    if (sharer.wants == 0 || wanted || !std::isfinite(least) || missed <= 0) continue;
    study.use.had += missed;
    sharer.had += missed;
  }
}

bool Divider::MayBorrow(const Study& study) const {
  const auto lends = [](const Node& node) { return node.up && node.Lends(); };
  return study.active() && study.policy->traits().can.borrows && study.demand.lent &&
         std::ranges::any_of(state_.cluster.nodes(), lends) && WantsOf(study) > 0;
}

bool Divider::IsAtItsEnd(const Study& study) const {
  return AreShared() && study.active() && study.count(TrialState::kPaused) > 0 &&
         study.running.empty() && study.waiting.empty() && study.asked == study.answered &&
         transfers_.AllMade(study) && !study.stopper->MayResume();
}

// Also while a study leaves: others are to get what it frees.
bool Divider::AreShared() const {
  return std::ranges::count(state_.studies, false,
                            [](const auto& study) { return study->finished; }) > 1;
}

// For how long launches hold what they are given, by the studies of which it is known.
double Divider::UsualSeconds() const {
  double total = 0;
  int known = 0;
  for (const auto& study : state_.studies) {
    if (!study->active() || study->launch_took.count == 0) continue;
    total += study->launch_took.seconds;
    ++known;
  }
  return known > 0 ? total / known : 1;
}

// How many programs the study could start if it had room.
int Divider::WantsOf(const Study& study) const {
  if (!study.active() || study.declined || study.HoldsStarts(state_.now)) return 0;
  std::int64_t trials = static_cast<std::int64_t>(study.asked - study.answered);
  for (const TrialId id : study.waiting) trials += study.IsReady(study.trial(id), state_.now);
  if (!study.has_enough_room && transfers_.MayMakeMore(study))
    trials += transfers_.Left(study) +
              (study.stopper->MayResume() ? study.count(TrialState::kPaused) : 0);
  if (study.spec.parallelism > 0) {
    const auto running = static_cast<std::int64_t>(study.running.size());
    trials = std::min(trials, std::max<std::int64_t>(0, study.spec.parallelism - running));
  }
  if (IsResized(study) && (trials > 0 || !study.running.empty())) return kAllThereIs;
  const int fused = FusedOf(study);
  return static_cast<int>(std::min<std::int64_t>((trials + fused - 1) / fused, kAllThereIs));
}

// What the next program of the study takes.
const Demand* Divider::NextDemand(const Study& study) {
  const bool elastic = IsResized(study);
  const bool whole = FusedOf(study) > 1 && study.demand.gpus > 0 && study.demand.gpus < kWhole;
  if (!elastic && !whole) return &study.demand;
  Demand& demand = demands_.emplace_back(study.demand);
  if (elastic) demand = AtWidth(study.demand, LeastWidth(study.demand));
  if (whole) demand.gpus = kWhole;
  return &demand;
}

Sharer Divider::SharerOf(const Study& study, double usual_seconds, const ClusterSize& size) {
  Use use = study.use;
  use.Settle(state_.now, size);
  const double seconds = study.launch_took.count > 0 ? study.launch_took.seconds : usual_seconds;
  return {.study = study.id,
          .weight = study.spec.weight,
          .had = use.had + StillToTake(state_, study, seconds, size),
          .seconds = seconds,
          .demand = NextDemand(study),
          .wants = WantsOf(study),
          .hidden = &study.hidden};
}

}  // namespace sluice
