#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/random.h"
#include "search/sampler.h"
#include "search/samplers/grid.h"
#include "search/samplers/sobol.h"
#include "search/samplers/tpe_group.h"

namespace sluice {

// The tree-structured Parzen estimator, multivariate and by groups.
//
// Trials are compared at work that all of them have done (search/samplers/tpe_group.h). The best
// trials make a density l, the other trials a density g. Of a few points drawn from l, the one with
// the largest l / g is proposed: a point that looks like the good trials and unlike the rest.
// Parameters that are active together share one density, so that good combinations of their values
// are learned. A conditional group is drawn after the groups it depends on, and learns from the
// trials in which it was active. Constraints are met by drawing again.
//
// Running trials that have not reached the level of the comparison count as bad, and so do
// proposals that are not yet trials. So parallel proposals keep apart (a constant liar). The first
// proposals are those of a Sobol sequence.
//
// A proposal is a function of the seed, the counter and what is known of each trial, in whatever
// order that was learned, so a restart continues the same sequence. It costs about the same at
// 1,000 trials as at 100,000.
class TpeSampler final : public Sampler {
 public:
  TpeSampler(const SamplerSpec& spec, const Space& space, std::uint64_t seed);

  // In a discrete space this is a point that was not tried yet, while there is one.
  std::optional<Point> Propose(std::uint64_t counter) override;
  void Observe(const Observation& observation) override;

 private:
  struct Pending {
    std::uint64_t digest = 0;
    std::vector<double> unit;
  };
  // The points drawn for one group.
  struct Candidates {
    std::vector<double> rows;                 // coordinates
    std::vector<std::vector<double>> values;  // of the group's parameters
  };

  std::optional<Point> Suggest(Random& random);
  bool SuggestGroup(const TpeGroup& group, Random& random, Point& point) const;
  Candidates Draw(const TpeGroup& group, const Parzen* good, Random& random, Point& point) const;
  std::optional<Point> Untried(Random& random);
  bool Tried(const Point& point) const;

  Space space_;
  std::vector<Work> levels_;
  Random stream_;
  SobolSampler first_;
  bool discrete_;
  std::unique_ptr<GridSampler> all_;  // the points of a discrete space, once they are needed
  bool looked_ = false;  // whether all_ was asked for: it stays null if there are too many points
  std::vector<TpeGroup> groups_;
  std::map<TrialId, TpeTrial> known_;
  std::map<std::uint64_t, Pending> pending_;  // by counter
  std::unordered_set<std::uint64_t> tried_;   // digests of points, in a discrete space
  std::size_t ranked_ = 0;
};

}  // namespace sluice
