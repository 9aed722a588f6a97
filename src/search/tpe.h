#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/random.h"
#include "search/grid.h"
#include "search/parzen.h"
#include "search/sampler.h"
#include "search/sobol.h"

namespace sluice {

// The tree-structured Parzen estimator, multivariate and by groups.
//
// Trials are ranked; the best tenth, at most 25, make a density l, the others a density g, and of a
// few points drawn from l the one with the largest l / g is proposed: what looks like the good
// trials and unlike the rest. Parameters that are active together are one density, so what goes
// together is learned together; conditional groups are drawn after those they depend on, from the
// trials where they were active.
//
// The rank: complete trials by loss; then those with a value that were stopped, or still run or
// wait, by how far they came, then by loss (what a stopper let go far was better than what it did
// not); then those without a value, failed ones among them. Trials that run without a value count
// as bad, so that parallel proposals keep apart (constant liar); so do proposals that are not yet
// trials. The first ten proposals are a Sobol sequence's.
//
// A proposal is a function of the seed, the counter and what is known of each trial, in whatever
// order that was learned, so a restart goes on with the same sequence. It costs about the same at
// 1,000 trials as at 100,000: beyond kMostKernels, g is made of a sample of the trials, fixed by
// their ids.
class TpeSampler final : public Sampler {
 public:
  TpeSampler(const Space& space, std::uint64_t seed);

  // In a discrete space a point that was not tried yet, while there is one.
  std::optional<Point> Propose(std::uint64_t counter) override;
  void Observe(const Observation& observation) override;

 private:
  struct Rank {
    int kind = 0;  // complete, partly, without a value
    Work work = 0;
    double loss = 0;
    TrialId trial{};
    bool operator<(const Rank& other) const;
  };
  struct Known {
    std::vector<double> unit;  // NaN where not active
    std::optional<Rank> rank;  // none while it runs without a value
  };
  // What is known where one group of parameters is active.
  struct Group {
    std::vector<std::size_t> parameters;
    std::vector<Axis> axes;
    std::set<Rank> ranked;
    std::set<TrialId> running;
    std::set<TrialId> sampled;  // of the ranked: those that g is made of
    int level = 0;              // one of 2^level is sampled
  };
  struct Densities {
    Parzen good;
    Parzen bad;
  };

  void Add(TrialId trial, const Known& known);
  void Remove(TrialId trial, const Known& known);
  void Resample(Group& group);
  bool Has(const Group& group, const Known& known) const;

  std::optional<Point> Suggest(Random& random);
  bool SuggestGroup(const Group& group, Random& random, Point& point);
  Densities MakeDensities(const Group& group) const;
  std::optional<Point> Untried(Random& random);
  bool Tried(const Point& point) const;

  Space space_;
  Random stream_;
  SobolSampler first_;
  std::unique_ptr<Sampler> all_;  // of a discrete space
  std::optional<std::uint64_t> points_;
  std::vector<Group> groups_;
  std::map<TrialId, Known> known_;
  std::size_t ranked_ = 0;
  std::map<std::uint64_t, Point> pending_;  // proposed, by counter, and not yet a trial
  std::unordered_set<std::uint64_t> tried_;  // digests of points, of a discrete space
};

}  // namespace sluice
