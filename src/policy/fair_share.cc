#include "policy/fair_share.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "cluster/width.h"

namespace sluice {

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
    // Who claims less than its part is served, and the others share what that leaves.
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
  // Once round is enough: nobody claims less than its part.
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
  const Milli trials = study.running + study.waiting + study.coming + study.unborn + study.paused +
                       (study.open ? study.left : 0);
  const Milli alive = study.parallelism > 0 ? std::min<Milli>(trials, study.parallelism) : trials;
  return alive * MostWidth(study.demand);
}

std::vector<Milli> SharesOf(const Cluster& cluster, const WorkView& work) {
  std::vector<Milli> shares(work.studies.size(), 0);
  for (const bool on_cores : {false, true}) {
    std::vector<Claim> claims;
    for (const StudyView& study : work.studies) {
      const bool here = (study.demand.gpus == 0) == on_cores;
      claims.push_back({.most = here ? MostUsed(study) : 0, .weight = study.weight});
    }
    const Demand any{.gpus = on_cores ? 0 : kWhole};
    const std::vector<Milli> dealt = FairShares(TotalWidth(cluster, any), claims);
    for (std::size_t i = 0; i < dealt.size(); ++i) shares[i] += dealt[i];
  }
  return shares;
}

}  // namespace sluice
