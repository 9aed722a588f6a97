#include "policy/confluence/fair_share.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>

#include "cluster/width.h"

namespace sluice {
namespace {

Milli Alive(const StudyView& study, Milli paused) {
  const Milli trials = study.running + study.waiting + study.coming + study.not_ready + paused +
                       (study.open ? study.left : 0);
  return study.parallelism > 0 ? std::min<Milli>(trials, study.parallelism) : trials;
}

// How many paused trials are expected to go on: all of them, or one in eta. Which of them go on is
// settled by other trials as these reach the rung. So no more paused trials count than there are
// trials that run or wait.
Milli GoOn(const StudyView& study) {
  if (study.all_go_on) return study.paused;
  return std::min(study.paused, study.running + study.waiting) /
         std::max<std::int64_t>(study.eta, 1);
}

Milli Held(const WorkView& work, const StudyView& study) {
  Milli held = 0;
  for (const WorkItem& item : work.items) {
    if (item.trial.study == study.study && item.running && !item.leaving)
      held += WidthOf(*item.grant);
  }
  return study.demand.fused_most > 1 ? 0 : held;  // the trials of a bundle hold one device together
}

// Throughputs that differ by at most this fraction count as equal. This is above the rounding error
// of a sum of speeds, and below every measured difference.
constexpr double kTie = 1e-9;

// The width with the most throughput per device, averaged over all devices. If widths up to one
// device tie, the narrowest wins: waiting trials start at that width too. If a width of several
// devices ties, the widest wins: a study that makes as much of each device with many devices as
// with few keeps its claim to many.
Milli ThriftyWidth(const Cluster& cluster, const SpeedModel& speeds, const StudyView& study) {
  const Milli least = LeastWidth(study.demand);
  const Milli most = std::max(least, WidestFit(cluster, study.demand));
  if (most == least) return least;
  std::map<std::string, double> kinds;  // the number of devices of each kind
  const bool on_cores = study.demand.gpus == 0;
  if (on_cores) kinds[""] = 1;
  for (const Node& node : cluster.nodes()) {
    for (const Device& device : node.devices)
      if (node.up && device.IsOwn() && !on_cores) kinds[device.kind] += 1;
  }
  Milli best = least;
  double does = 0;
  for (Milli width = least; width <= most; width = width < kWhole ? kWhole : 2 * width) {
    double speed = 0;
    for (const auto& [kind, count] : kinds) {
      SpeedSituation at{.shape = std::string(study.shape), .kind = kind, .width = width};
      if (!on_cores && width < kWhole) at.neighbours = kWhole - width;
      speed += count * speeds.Ask(at).work_per_second;
    }
    speed /= static_cast<double>(width);
    if (speed < does * (width > kWhole ? 1 - kTie : 1 + kTie)) continue;
    best = width;
    does = speed;
  }
  return best;
}

using Use = std::function<Milli(const StudyView&)>;

// Deals devices, and then cores, in rounds. Each round deals what the rounds before it left, up to
// what each study can use in that round.
std::vector<Milli> InRounds(const Cluster& cluster, const WorkView& work,
                            const std::vector<Use>& rounds) {
  std::vector<Milli> shares(work.studies.size(), 0);
  for (const bool on_cores : {false, true}) {
    Milli left = TotalWidth(cluster, Demand{.gpus = on_cores ? 0 : kWhole});
    for (const Use& use : rounds) {
      std::vector<Claim> claims;
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const StudyView& study = work.studies[i];
        const bool here = (study.demand.gpus == 0) == on_cores;
        claims.push_back({.most = here ? use(study) - shares[i] : 0, .weight = study.weight});
      }
      const std::vector<Milli> dealt = FairShares(left, claims);
      for (std::size_t i = 0; i < dealt.size(); ++i) {
        shares[i] += dealt[i];
        left -= dealt[i];
      }
    }
  }
  return shares;
}

}  // namespace

std::vector<Milli> FairShares(Milli all, const std::vector<Claim>& claims) {
  std::vector<Milli> shares(claims.size(), 0);
  std::vector<std::size_t> open(claims.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  std::erase_if(open, [&](std::size_t i) { return claims[i].most <= 0 || claims[i].weight <= 0; });
  Milli left = all;
  while (!open.empty() && left > 0) {
    double weights = 0;
    for (const std::size_t i : open) weights += claims[i].weight;
    const double each = static_cast<double>(left) / weights;
    // A claim that is no larger than its part is met in full. The others share what is left.
    const auto modest = [&](std::size_t i) {
      return static_cast<double>(claims[i].most) <= each * claims[i].weight;
    };
    const auto served = std::ranges::stable_partition(open, modest);
    if (served.begin() == open.begin()) break;
    for (auto at = open.begin(); at != served.begin(); ++at) {
      shares[*at] = claims[*at].most;
      left -= claims[*at].most;
    }
    open.erase(open.begin(), served.begin());
  }
  if (open.empty() || left <= 0) return shares;
  double weights = 0;
  for (const std::size_t i : open) weights += claims[i].weight;
  const auto part = [&](std::size_t i) {
    return static_cast<double>(left) * claims[i].weight / weights;
  };
  Milli rest = left;
  for (const std::size_t i : open) {
    shares[i] = static_cast<Milli>(part(i)) / kWhole * kWhole;
    rest -= shares[i];
  }
  // One round is enough: each of these claims is larger than its part.
  std::ranges::stable_sort(open, std::greater(),
                           [&](std::size_t i) { return part(i) - static_cast<double>(shares[i]); });
  for (const std::size_t i : open) {
    const Milli more = std::min({rest, kWhole, claims[i].most - shares[i]});
    shares[i] += more;
    rest -= more;
  }
  return shares;
}

Milli MostUsed(const StudyView& study) {
  return Alive(study, study.paused) * MostWidth(study.demand);
}

std::vector<Milli> SharesOf(const Cluster& cluster, const WorkView& work) {
  return InRounds(cluster, work, {MostUsed});
}

std::vector<Milli> ThriftySharesOf(const Cluster& cluster, const WorkView& work) {
  const auto ends_with_all = [&](const StudyView& study) {
    return study.weight == work.studies.front().weight && !study.ends_when_good_enough;
  };
  if (work.studies.size() < 2 || !std::ranges::all_of(work.studies, ends_with_all))
    return SharesOf(cluster, work);
  const auto thrifty = [&](const StudyView& study) {
    const Milli width = ThriftyWidth(cluster, *work.speeds, study);
    return std::max(Alive(study, GoOn(study)) * width, Held(work, study));
  };
  return InRounds(cluster, work, {thrifty, MostUsed});
}

}  // namespace sluice
