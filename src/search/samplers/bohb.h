#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "search/sampler.h"
#include "search/samplers/parzen.h"

namespace sluice {

// BOHB's model (Falkner et al. 2018), for a stopper that judges trials at several budgets.
//
// A third of the proposals are drawn at random. The others use the largest budget that at least
// d + 2 trials have reached, where d is the number of parameters of the space. The best 15 % of
// these trials (at least the best d + 2; here d is the number of parameters of the group, see
// below) make a density l, the others (at least the worst d + 2) a density g. If there are few
// trials, some count in both densities. Bandwidths follow Scott's rule, but are at least 0.01 and
// at least 1 / (2 + trials). Of 64 points drawn from l with three times the bandwidth, the one with
// the largest l / g is proposed. A trial counts with its present result at every budget that it has
// reached, not with the result it had there. If it failed, or has no value, it counts as the worst
// at these budgets. While no budget has enough trials, proposals are random.
//
// Parameters that are active together form a group (Space::groups), which has its own l and g. A
// group is drawn after the groups that its condition depends on. A group that was active in too few
// trials is drawn at random. Constraints are met by drawing again.
//
// A proposal is a function of the seed, the counter and what is known of each trial, in whatever
// order that was learned. In a discrete space a point may be proposed twice. A proposal costs O(n).
class BohbSampler final : public Sampler {
 public:
  BohbSampler(const SamplerSpec& spec, const Space& space, std::uint64_t seed);

  std::optional<Point> Propose(std::uint64_t counter) override;
  void Observe(const Observation& observation) override;

 private:
  using Rank = std::pair<double, TrialId>;  // loss and trial
  struct Known {
    std::vector<double> unit;  // NaN where a parameter is not active
    double loss = 0;
    std::size_t reached = 0;  // number of levels
  };
  struct Group {
    std::vector<std::size_t> parameters;
    std::vector<Axis> axes;
  };
  // Trials as rows of coordinates, with their weights, and the density's bandwidth on each axis.
  struct Rows {
    std::vector<double> coordinates;
    std::vector<double> weights;
    std::vector<double> widths;
  };

  std::size_t ReachedBy(const Observation& observation) const;
  const std::set<Rank>* Chosen() const;
  std::optional<Point> Suggest(Random& random) const;
  bool SuggestGroup(const Group& group, const std::set<Rank>& ranked, Random& random,
                    Point& point) const;
  bool DrawGroup(const Group& group, const Parzen* from, std::size_t wanted, Random& random,
                 Point& point, std::vector<double>& rows,
                 std::vector<std::vector<double>>& values) const;
  Rows MakeRows(const Group& group, const std::vector<const Known*>& trials) const;

  Space space_;
  Random stream_;
  std::vector<Work> levels_;
  std::vector<Group> groups_;
  std::map<TrialId, Known> known_;
  std::vector<std::set<Rank>> ranked_;  // by level: the trials that have reached it, best first
};

}  // namespace sluice
