#include "policy/confluence/confluence.h"

#include <algorithm>

#include "cluster/width.h"
#include "policy/confluence/deadline_planner.h"
#include "policy/confluence/fair_share.h"
#include "policy/confluence/fixed_width_packer.h"
#include "policy/confluence/move_to_faster_device.h"
#include "policy/confluence/return_from_borrowed.h"
#include "policy/confluence/width_planner.h"
#include "policy/fusion.h"
#include "policy/placer.h"
#include "policy/published/hydro.h"

namespace sluice {
namespace {

// Whether every study has a deadline, and one of them has more work left than it has time for. If
// all work ends in time, there is nothing to choose. The time that bundles on cores take is not
// known here. So if a study has such bundles, no study counts as late.
bool IsLate(const Cluster& cluster, const WorkView& work, Time now) {
  const auto is_never_late = [](const StudyView& study) {
    return study.deadline == kNever || (study.demand.gpus == 0 && MostFused(study) > 1);
  };
  if (std::ranges::any_of(work.studies, is_never_late)) return false;
  const std::vector<Milli> shares = SharesOf(cluster, work);
  for (std::size_t i = 0; i < work.studies.size(); ++i) {
    const StudyView& study = work.studies[i];
    const WidthPlanner planner(cluster, work, study, shares[i], now);
    if (!(planner.length() < Seconds(study.deadline - now))) return true;
  }
  return false;
}

// Plans each study for the best model at its deadline, within its share of the devices.
Plan ByDeadlines(const Cluster& cluster, const WorkView& work, Time now) {
  Plan plan;
  const std::vector<Milli> shares = SharesOf(cluster, work);
  std::vector<Wanted> wanted;
  for (std::size_t i = 0; i < work.studies.size(); ++i) {
    const StudyView& study = work.studies[i];
    const DeadlinePlanner planner(cluster, work, study, shares[i], now);
    if (planner.fresh() > study.coming) plan.wanted_room.push_back({study.study, planner.fresh()});
    plan.keeps_running = plan.keeps_running || study.coming > 0 || !plan.wanted_room.empty();
    wanted.insert(wanted.end(), planner.chosen().begin(), planner.chosen().end());
    plan.given_up.insert(plan.given_up.end(), planner.given_up().begin(), planner.given_up().end());
  }
  // Which trials run is decided once all proposed trials are there.
  if (plan.keeps_running) {
    plan.given_up.clear();
  } else {
    plan.placements = Place(cluster, wanted, work.speeds);
  }
  return plan;
}

// The most that each elastic study may hold: its fair share. There is one exception. If studies
// that are not elastic have trials to start, but none of these trials fits in what the shares of
// elastic studies leave, the elastic studies share all devices among themselves.
std::vector<Milli> ElasticShares(const Cluster& cluster, const WorkView& work) {
  std::vector<Milli> shares = ThriftySharesOf(cluster, work);
  Milli rest = TotalWidth(cluster, Demand{.gpus = kWhole});
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (IsElastic(work.studies[i].demand)) rest -= shares[i];
  bool others = false;  // a study that is not elastic has trials to start
  for (const StudyView& study : work.studies) {
    if (IsElastic(study.demand)) continue;
    if (!study.open && study.waiting + study.coming + study.not_ready == 0) continue;
    if (LeastWidth(study.demand) <= rest) return shares;
    others = true;
  }
  if (!others) return shares;
  WorkView elastic = work;
  std::erase_if(elastic.studies, [](const StudyView& study) { return !IsElastic(study.demand); });
  const std::vector<Milli> dealt = ThriftySharesOf(cluster, elastic);
  for (std::size_t i = 0, next = 0; i < shares.size(); ++i)
    if (IsElastic(work.studies[i].demand)) shares[i] = dealt[next++];
  return shares;
}

// Plans so that all work ends soonest. Sets `keeps_room`: whether free room is kept for a trial
// that does not fit yet.
Plan ByLength(const Cluster& cluster, const WorkView& work, Time now, bool& keeps_room) {
  Plan plan;
  std::vector<const StudyView*> fixed;
  std::vector<const StudyView*> elastic;
  const std::vector<Milli> shares = ElasticShares(cluster, work);
  std::vector<const StudyView*> fused;
  for (const StudyView& study : work.studies) {
    if (study.demand.fused_most > 1 || study.leader_progress < 1) {
      fused.push_back(&study);
    } else {
      (IsElastic(study.demand) ? elastic : fixed).push_back(&study);
    }
  }
  // Running trials stay, except elastic trials that can be moved: these are placed again, one study
  // after the other. Until its study's turn, such a trial holds its devices in `free`. So no trial
  // makes way for a trial of another study, which would cost a start-up and gain nothing.
  Cluster free = cluster.Emptied();
  std::vector<TrialKey> leaving;
  std::vector<const WorkItem*> held;  // elastic trials of studies still to be planned
  const auto is_elastic = [&](const WorkItem& item) {
    return std::ranges::find(elastic, item.trial.study, &StudyView::study) != elastic.end();
  };
  FixedWidthPacker packer(free, work, fixed, now);
  for (const WorkItem& item : work.items) {
    const bool moves = is_elastic(item);
    const bool is_fixed =
        std::ranges::find(fixed, item.trial.study, &StudyView::study) != fixed.end();
    if (!item.running || is_fixed || (moves && item.leaving) || !free.Fits(*item.grant)) continue;
    free.Take(*item.grant);
    if (moves) held.push_back(&item);
  }
  for (const StudyView* study : elastic) {
    // At least a whole device, or all that the study can use if that is less: a trial that needs a
    // whole device could do nothing with a part of one.
    const Milli share = std::max(shares[static_cast<std::size_t>(study - work.studies.data())],
                                 std::min(kWhole, MostUsed(*study)));
    const WidthPlanner planner(cluster, work, *study, share, now);
    const int room = planner.MostAlive() - study->running - study->waiting;
    if (study->open && room > study->coming) plan.wanted_room.push_back({study->study, room});
    if (!plan.wanted_room.empty() || study->coming > 0) {
      plan.keeps_running = true;
      return plan;
    }
    for (const WorkItem* item : held)
      if (item->trial.study == study->study) free.Release(*item->grant);
    const std::vector<Placement> placed = PlaceIn(free, cluster, planner.Choose(), work.speeds);
    plan.placements.insert(plan.placements.end(), placed.begin(), placed.end());
  }
  if (!fused.empty()) {
    // Bundles are planned in the real cluster, not in `free`: only there do bundles that are about
    // to end still have their ids.
    Plan bundles = Hydro(/*moves=*/true).ProposeFor(fused, cluster, work);
    for (Placement& placement : bundles.placements) {
      if (!free.Fits(placement.grant)) continue;
      free.Take(placement.grant);
      plan.placements.push_back(std::move(placement));
    }
    plan.wanted_room.insert(plan.wanted_room.end(), bundles.wanted_room.begin(),
                            bundles.wanted_room.end());
    for (const StudyView* study : fused) {
      const std::vector<TrialKey> home = ReturnFromBorrowed(cluster, work, *study);
      leaving.insert(leaving.end(), home.begin(), home.end());
    }
  }
  packer.Fill(plan, leaving);
  keeps_room = packer.KeepsRoom();
  plan.keeps_running = leaving.empty() && elastic.empty();
  if (plan.keeps_running) return plan;
  for (const WorkItem& item : work.items) {
    if (item.running && !item.leaving && !is_elastic(item) &&
        std::ranges::find(leaving, item.trial) == leaving.end())
      plan.placements.push_back({item.trial, *item.grant});
  }
  return plan;
}

}  // namespace

Plan Confluence::Propose(const Cluster& cluster, const WorkView& work, Time now) {
  bool keeps_room = false;  // free room is kept for a trial that does not fit yet
  Plan plan = IsLate(cluster, work, now) ? ByDeadlines(cluster, work, now)
                                         : ByLength(cluster, work, now, keeps_room);
  if (!keeps_room) MoveToFasterDevices(cluster, work, now, plan);
  return plan;
}

}  // namespace sluice
