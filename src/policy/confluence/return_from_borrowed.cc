#include "policy/confluence/return_from_borrowed.h"

#include <algorithm>
#include <functional>
#include <string>

#include "policy/fusion.h"

// Own devices are devices that are not lent. Suppose that the n trials with the most seconds left
// leave the lent devices. Then the programs on own devices grow to ceil((trials there + n) /
// devices) trials each. They end when their longest trial has ended at the speed of such a program,
// after the price of the return (kStartUpsOfReturn). The trials that stay on lent devices end when
// the longest of them does. The best n is found by trying every n for which own devices have room.
// The return must let all trials end clearly sooner (kReturnPays).
//
// A judged trial counts as if it went on to its full budget: any running trial may do so, and
// trials that are stopped on their way delay nothing.

namespace sluice {
namespace {

// With the return, all trials must end within this part of the time that they would take without
// it, since speeds are estimates. With a lower value, trials are left on lent devices. With a value
// near 1, trials return for little gain. A guess: not measured.
constexpr double kReturnPays = 0.95;
// What a return costs, in start-ups: the trial's own start-up, and the same time again for saving
// the trial and for the delay of the program that it joins. A guess: not measured.
constexpr double kStartUpsOfReturn = 2;

struct Member {
  const WorkItem* item = nullptr;
  double work = 0;     // units left
  double seconds = 0;  // left, where it runs
};

}  // namespace

std::vector<TrialKey> ReturnFromBorrowed(const Cluster& cluster, const WorkView& work,
                                         const StudyView& study) {
  if (study.demand.gpus == 0) return {};  // its trials run on cores
  const bool full = study.parallelism > 0 && study.running >= study.parallelism;
  const bool has_others = study.waiting > 0 || study.coming > 0 || study.open;
  if ((has_others && !full) || !study.start_up_known) return {};
  const Fusion fusion(*work.speeds, study);
  const auto speed = [&](const Device& device, int fused) {
    SpeedSituation at{.shape = std::string(study.shape), .kind = {}, .fused = fused};
    at.SetDevice(device);
    return work.speeds->Ask(at).work_per_second;
  };
  std::vector<Member> away;
  double longest = 0;  // the most work left of a trial on own devices
  int home = 0;
  int room = 0;
  int devices = 0;
  const Device* own = nullptr;  // stands for all own devices
  for (const Device* device : fusion.Home(cluster, work)) {
    own = device;
    room += fusion.MostOn(*device);
    ++devices;
  }
  if (own == nullptr) return {};
  for (const WorkItem& item : work.items) {
    if (item.trial.study != study.study || !item.running || item.target == kNoLimit) continue;
    const Work end = study.judged ? std::max(item.target, study.max_budget) : item.target;
    const auto left = static_cast<double>(std::max<Work>(end - item.done, 0));
    const std::size_t number = Number(item.grant->devices.front());
    const std::vector<Device>& there = cluster.node(item.grant->node).devices;
    if (number >= there.size()) continue;
    if (there[number].IsOwn()) {
      ++home;
      longest = std::max(longest, left);
      continue;
    }
    if (item.leaving || !item.movable) continue;
    const int fused = std::max(1, cluster.BundleSize(item.grant->bundle));
    away.push_back({&item, left, left / speed(there[number], fused)});
  }
  std::ranges::stable_sort(away, std::greater(), &Member::seconds);
  const auto ends = [&](std::size_t leave) {
    const double behind_s = leave < away.size() ? away[leave].seconds : 0;
    double most = longest;
    for (std::size_t i = 0; i < leave; ++i) most = std::max(most, away[i].work);
    const int all = home + static_cast<int>(leave);
    const int fused = std::max(1, (all + devices - 1) / devices);
    const double start_s = leave > 0 ? kStartUpsOfReturn * Seconds(study.start_up) : 0;
    return std::max(behind_s, start_s + most / speed(*own, fused));
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
