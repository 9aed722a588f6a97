#include "policy/confluence/return_from_borrowed.h"

#include <algorithm>
#include <functional>
#include <string>

#include "policy/fusion.h"

// If the n trials with most left leave the devices that are lent, own programs grow to F(n) trials each and end when
// the longest in them has ended at that speed; what stays behind ends when its longest does. One n is best: it is
// found by trying all, which are no more than own devices have room for. Of a study that is judged whoever is still
// there may go on to the end, and counts so: those that are stopped on their way keep nobody waiting.

namespace sluice {
namespace {

constexpr double kReturnPays = 0.95;

struct Member {
  const WorkItem* item = nullptr;
  double work = 0;     // left
  double seconds = 0;  // where it is
};

}  // namespace

std::vector<TrialKey> ReturnFromBorrowed(const Cluster& cluster, const WorkView& work,
                                         const StudyView& study) {
  const bool full = study.parallelism > 0 && study.running >= study.parallelism;
  const bool has_others = study.waiting > 0 || study.coming > 0 || study.open;
  if ((has_others && !full) || !study.start_up_known) return {};
  const Fusion fusion(*work.speeds, study);
  const auto speed = [&](const std::string& kind, int fused) {
    return work.speeds->Ask({.shape = std::string(study.shape), .kind = kind, .fused = fused})
        .work_per_second;
  };
  std::vector<Member> away;
  double longest = 0;  // work left of those at home
  int home = 0;
  int room = 0;
  int devices = 0;
  std::string kind;
  for (const Device* device : fusion.Home(cluster, work)) {
    kind = device->kind;
    room += fusion.MostOn(*device);
    ++devices;
  }
  if (devices == 0) return {};
  for (const WorkItem& item : work.items) {
    if (item.trial.study != study.study || !item.running || item.target == kNoLimit) continue;
    const Work end = study.judged ? std::max(item.target, study.max_budget) : item.target;
    const auto left = static_cast<double>(std::max<Work>(end - item.done, 0));
    const std::size_t number = Number(item.grant->devices.front());
    const std::vector<Device>& there = cluster.node(item.grant->node).devices;
    if (number >= there.size()) continue;
    if (!there[number].IsLent()) {
      ++home;
      longest = std::max(longest, left);
      continue;
    }
    if (item.leaving || !item.movable) continue;
    const int fused = std::max(1, cluster.BundleSize(item.grant->bundle));
    away.push_back({&item, left, left / speed(SpeedKind(there[number]), fused)});
  }
  std::ranges::stable_sort(away, std::greater(), &Member::seconds);
  const auto ends = [&](std::size_t leave) {
    const double behind = leave < away.size() ? away[leave].seconds : 0;
    double most = longest;
    for (std::size_t i = 0; i < leave; ++i) most = std::max(most, away[i].work);
    const int all = home + static_cast<int>(leave);
    const int fused = std::max(1, (all + devices - 1) / devices);
    const double start = leave > 0 ? 2 * Seconds(study.start_up) : 0;
    return std::max(behind, start + most / speed(kind, fused));
  };
  std::size_t best = 0;
  for (std::size_t leave = 1; leave <= away.size() && home + static_cast<int>(leave) <= room;
       ++leave)
    if (ends(leave) < ends(best)) best = leave;
  if (best == 0 || ends(best) > kReturnPays * ends(0)) return {};
  std::vector<TrialKey> leaving;
  for (std::size_t i = 0; i < best; ++i) leaving.push_back(away[i].item->trial);
  return leaving;
}

}  // namespace sluice
