#include "policy/published/hypersched.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cluster/width.h"
#include "policy/placer.h"
#include "policy/remaining.h"

namespace sluice {
namespace {

// A trial grows if it then does this many times as much work by the deadline, and has reported at
// least this many times since it was started. Both conditions keep trials from growing because of a
// measurement error, and from starting up again and again. Both also delay growth that pays. They
// are part of HyperSched's rule as docs/policies.md gives it. Other values were not measured.
constexpr double kWideningPays = 1.1;
constexpr std::uint32_t kReportsBetween = 6;

bool IsAheadOf(const WorkItem& a, const WorkItem& b) {
  if (std::isnan(a.loss) || std::isnan(b.loss)) return !std::isnan(a.loss) && std::isnan(b.loss);
  return a.loss < b.loss;
}

// The plan of one study.
class HyperSchedStudyPlan {
 public:
  HyperSchedStudyPlan(const Cluster& cluster, const WorkView& work, const StudyView& study,
                      Time now)
      : work_(work),
        study_(study),
        speeds_(*work.speeds, cluster),
        left_s_(study.deadline == kNever ? INFINITY : Seconds(study.deadline - now)) {}

  bool Admits() const {
    const auto begun = [&](const WorkItem& item) {
      return item.trial.study == study_.study && (item.running || item.admitted);
    };
    // Otherwise the devices would stay idle.
    if (study_.ending == 0 && std::ranges::none_of(work_.items, begun)) return true;
    const double unit_s = speeds_.SecondsPerUnit(study_.shape, study_.demand);
    if (!(unit_s > 0)) return true;
    const double far_s = static_cast<double>(study_.furthest) * unit_s;
    const double full_s = static_cast<double>(study_.max_budget) * unit_s;
    return left_s_ > std::min(far_s * static_cast<double>(study_.eta), full_s);
  }

  // All trials that run, then waiting trials while slots are left.
  std::vector<Wanted> Choose(int slots) const {
    std::vector<Wanted> chosen;
    const bool admits = Admits();
    for (const bool runs : {true, false}) {
      for (const WorkItem& item : work_.items) {
        if (item.trial.study != study_.study || item.running != runs) continue;
        // A trial that waits because it was moved was admitted before.
        if (!runs && (static_cast<int>(chosen.size()) >= slots || !(admits || item.admitted)))
          continue;
        chosen.push_back({&item, IsFixed(item) ? WidthOf(*item.grant) : OneDevice(item.demand)});
      }
    }
    return chosen;
  }

  // Deals out the devices left over, one at a time, the best trial first.
  static void Widen(std::vector<Wanted>& runners, Milli devices) {
    std::ranges::stable_sort(
        runners, [](const Wanted& a, const Wanted& b) { return IsAheadOf(*a.item, *b.item); });
    Milli spare = devices;
    for (const Wanted& runner : runners) spare -= runner.width;
    for (bool dealt = true; dealt && spare >= kWhole;) {
      dealt = false;
      for (Wanted& runner : runners) {
        const bool full = runner.width + kWhole > MostWidth(runner.item->demand);
        if (spare < kWhole || full || IsFixed(*runner.item)) continue;
        runner.width += kWhole;
        spare -= kWhole;
        dealt = true;
      }
    }
  }

  // A trial for which growing does not pay keeps its width.
  void Settle(std::vector<Wanted>& runners) const {
    for (Wanted& runner : runners) {
      const Milli held = Held(*runner.item);
      if (held > 0 && runner.width > held && !IsWorth(*runner.item, runner.width))
        runner.width = held;
    }
  }

  // The width that a running trial holds; 0 for a trial that waits or is leaving.
  static Milli Held(const WorkItem& item) {
    return item.running && !item.leaving ? WidthOf(*item.grant) : 0;
  }

 private:
  // Whether it pays to grow a running trial to this width.
  bool IsWorth(const WorkItem& item, Milli width) const {
    if (item.launch_reports < kReportsBetween) return false;
    const double now = speeds_.SpeedAt(item, WidthOf(*item.grant));
    const double then = speeds_.SpeedAt(item, width);
    if (std::isinf(left_s_)) return then > now * kWideningPays;
    return then * (left_s_ - Seconds(study_.start_up)) > kWideningPays * now * left_s_;
  }

  const WorkView& work_;
  const StudyView& study_;
  RemainingTimes speeds_;
  double left_s_;
};

}  // namespace

Plan HyperSched::Propose(const Cluster& cluster, const WorkView& work, Time now) {
  Plan plan;
  std::vector<Wanted> wanted;
  for (const StudyView& study : work.studies) {
    const HyperSchedStudyPlan of(cluster, work, study, now);
    // Studies share the devices evenly.
    const Milli all = TotalWidth(cluster, study.demand);
    const Milli part = all / static_cast<Milli>(work.studies.size()) / kWhole * kWhole;
    const Milli devices = std::max(part, OneDevice(study.demand));
    int slots = static_cast<int>(devices / OneDevice(study.demand));
    if (study.parallelism > 0) slots = std::min(slots, study.parallelism);
    slots -= study.ending;
    std::vector<Wanted> runners = of.Choose(slots);
    const int room = slots - static_cast<int>(runners.size());
    const bool more = study.open && room > study.coming && of.Admits();
    if (more) plan.wanted_room.push_back({study.study, room});
    if (more || study.coming > 0) {
      // Devices go to new trials before running trials grow.
      for (Wanted& runner : runners)
        runner.width = std::max(runner.width, HyperSchedStudyPlan::Held(*runner.item));
    } else {
      HyperSchedStudyPlan::Widen(runners, devices);
      of.Settle(runners);
    }
    wanted.insert(wanted.end(), runners.begin(), runners.end());
  }
  plan.placements = Place(cluster, wanted);
  return plan;
}

}  // namespace sluice
