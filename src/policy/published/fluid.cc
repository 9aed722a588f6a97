#include "policy/published/fluid.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cluster/width.h"
#include "policy/placer.h"
#include "policy/remaining.h"

namespace sluice {
namespace {

// In devices. Added before rounding down, since an error in the last digits must not take a whole
// device away. Such errors are below 1e-11 for 10,000 devices. Any value between 1e-11 and the
// least part of a device that matters gives the same widths.
constexpr double kRoundingError = 1e-9;
// In trials. Stands for no limit where trials need no core, or no GPU: more than any cluster runs.
constexpr Milli kMostAlive = 1'000'000;

struct Left {
  const WorkItem* item = nullptr;
  double seconds = 0;
};

// A trial that has begun keeps its place: a long trial that waits does not evict short ones.
bool ComesBefore(const Left& a, const Left& b) {
  const auto begun = [](const WorkItem& item) { return item.running || item.admitted; };
  if (begun(*a.item) != begun(*b.item)) return begun(*a.item);
  return a.seconds > b.seconds;
}

// The number of trials of this study that could be alive if all had their least width.
int MostAlive(const Cluster& cluster, const StudyView& study) {
  const Demand least = AtWidth(study.demand, LeastWidth(study.demand));
  Milli most = 0;
  for (const Node& node : cluster.nodes()) {
    if (!node.up) continue;
    const Milli by_cpus = least.cpus > 0 ? node.cpus / least.cpus : kMostAlive;
    const Milli gpus = OwnDevices(node);
    // A share does not span two devices.
    const Milli by_gpus = least.gpus == 0       ? kMostAlive
                          : least.gpus < kWhole ? gpus * (kWhole / least.gpus)
                                                : gpus * kWhole / least.gpus;
    most += std::min(by_cpus, by_gpus);
  }
  const auto alive = static_cast<int>(std::min(most, kMostAlive));
  return study.parallelism > 0 ? std::min(alive, study.parallelism) : alive;
}

// Asks for the trials that could still be alive. Returns whether trials are on their way or asked
// for by this plan.
bool AskForMore(const Cluster& cluster, const WorkView& work, Plan& plan) {
  bool come = false;
  for (const StudyView& study : work.studies) {
    const int room = MostAlive(cluster, study) - study.running - study.waiting;
    if (study.open && room > study.coming) plan.wanted_room.push_back({study.study, room});
    come = come || study.coming > 0;
  }
  return come || !plan.wanted_room.empty();
}

}  // namespace

Milli FluidWidth(double part, const Demand& demand, Milli devices) {
  if (!(part >= 0 && part <= 1)) return LeastWidth(demand);
  const double whole = std::floor(part * static_cast<double>(devices) / kWhole + kRoundingError);
  const Milli width = static_cast<Milli>(whole) * kWhole;
  return std::min(std::max(width, LeastWidth(demand)), MostWidth(demand));
}

Plan Fluid::Propose(const Cluster& cluster, const WorkView& work, Time /*now*/) {
  Plan plan;
  plan.keeps_running = AskForMore(cluster, work, plan);
  if (plan.keeps_running) return plan;
  const auto view_of = [&](const WorkItem& item) -> const StudyView& {
    return *std::ranges::find(work.studies, item.trial.study, &StudyView::study);
  };
  const RemainingTimes remaining(*work.speeds, cluster);
  std::vector<Left> left;
  double sum_s = 0;
  for (const WorkItem& item : work.items) {
    left.push_back({&item, remaining.Alone(item)});
    sum_s += left.back().seconds;
  }
  std::ranges::stable_sort(left, ComesBefore);

  std::vector<Wanted> wanted;
  std::map<StudyId, int> alive;
  for (const StudyView& study : work.studies) alive[study.study] = study.running;
  for (const auto& [item, seconds] : left) {
    const StudyView& study = view_of(*item);
    if (!item->running) {
      if (study.parallelism > 0 && alive[study.study] >= study.parallelism) continue;
      ++alive[study.study];
    }
    Milli width = item->width;
    if (IsFixed(*item)) {
      width = WidthOf(*item->grant);
    } else if (mode_ == Mode::kDynamic || width == 0) {
      const Milli devices = TotalWidth(cluster, item->demand);
      width = FluidWidth(sum_s > 0 ? seconds / sum_s : 0, item->demand, devices);
      if (mode_ == Mode::kStatic) plan.widths.push_back({item->trial, width});
    }
    wanted.push_back({item, width});
  }
  plan.placements = Place(cluster, wanted);
  return plan;
}

}  // namespace sluice
