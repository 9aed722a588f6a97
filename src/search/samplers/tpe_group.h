#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "search/sampler.h"
#include "search/samplers/parzen.h"
#include "space/space.h"

namespace sluice {

// A trial as the estimator sees it.
struct TpeTrial {
  TrialId id{};
  std::vector<double> unit = {};  // coordinates over the whole space; NaN where not active
  bool runs = false;
  bool failed = false;  // or it ended without a value
  // At each level that it has passed, rising; not NaN. Nothing if it failed.
  std::vector<double> losses = {};

  bool IsRanked() const { return failed || !losses.empty(); }
  bool HasPassed(std::size_t level) const { return losses.size() > level; }
};

// What an observation says of a trial, except for its coordinates. A complete trial has passed all
// levels, whatever its work. One that was stopped below the first counts as if it had passed that.
TpeTrial TrialOf(const Observation& observation, const std::vector<Work>& levels);

// What is known of the trials in which one group of parameters is active, and the two densities
// that follow from it.
//
// Trials are compared at work that all of them have done: at the highest level that kCompared of
// them have passed. The best of those make `good`: a tenth of all trials, but at most a quarter of
// those that are compared. `bad` is made of the others that have passed the level, of failed
// trials, and of those that run and have not come so far. A trial that was stopped or paused below
// the level says nothing there and is left out: counted as bad, the many that were stopped where the
// search looks most would drive it away from there.
//
// Beyond kMostKernels bad trials a sample is taken that their ids determine. What it answers
// depends on what is known, not on the order in which it was learned.
class TpeGroup {
 public:
  static constexpr std::size_t kMostKernels = 1024;
  static constexpr std::size_t kCompared = 8;

  TpeGroup(const Space& space, std::vector<std::size_t> parameters, std::size_t levels);

  const std::vector<std::size_t>& parameters() const { return parameters_; }
  // How many trials have a rank.
  std::size_t ranked() const { return levels_.front().ranked.size() + failed_.ranked.size(); }

  // It must stay where it is, as it is, until Remove.
  void Add(const TpeTrial& trial);
  void Remove(const TpeTrial& trial);

  struct Densities {
    Parzen good;
    Parzen bad;
  };
  // Of at least one ranked trial. `pending`: coordinates of points that are to be kept away from,
  // as running trials are.
  Densities MakeDensities(std::span<const std::vector<double>> pending) const;

 private:
  using ById = std::map<TrialId, const TpeTrial*>;
  // Trials in order, and the sample of them that `bad` is made of.
  struct Ranking {
    std::map<std::pair<double, TrialId>, const TpeTrial*> ranked;
    ById sampled;
    int thinning = 0;  // one of 2^thinning is sampled

    void Add(double loss, const TpeTrial& trial);
    void Remove(double loss, const TpeTrial& trial);
    void Resample();
  };
  struct Rows;
  std::size_t ComparedLevel() const;
  ById BestAt(std::size_t level) const;
  Rows BadRows(std::size_t level, const ById& good,
               std::span<const std::vector<double>> pending) const;

  std::vector<std::size_t> parameters_;
  std::vector<Axis> axes_;
  std::vector<Ranking> levels_;  // of the trials that have passed each
  Ranking failed_;
  ById running_;
};

}  // namespace sluice
