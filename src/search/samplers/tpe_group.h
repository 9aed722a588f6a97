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
  std::vector<double> unit = {};  // coordinates over the whole space; NaN where inactive
  bool runs = false;
  bool failed = false;  // failed, or ended without a value
  // The loss at each level that the trial has passed, by rising level; never NaN. Empty if it
  // failed.
  std::vector<double> losses = {};

  bool IsRanked() const { return failed || !losses.empty(); }
  bool HasPassed(std::size_t level) const { return losses.size() > level; }
};

// What an observation says about a trial, except for its coordinates. A complete trial has passed
// all levels, whatever its work. A trial that was stopped below the first level counts as if it had
// passed the first level.
TpeTrial TrialOf(const Observation& observation, const std::vector<Work>& levels);

// The trials in which one group of parameters is active, and the two densities made from them.
//
// Trials are compared at work that all of them have done: at the highest level that kCompared of
// them have passed. The best of the compared trials make `good`: as many as a tenth of all trials,
// but at most 18 and at most a quarter of the compared trials. `bad` is made of the other trials
// that have passed the level, of failed trials, and of running trials that have not reached it. A
// trial that was stopped or paused below the level says nothing there and is left out. If such
// trials counted as bad, the many trials that were stopped where the search looks most would drive
// the search away from there.
//
// If there are more than kMostKernels bad trials, `bad` is made of a sample of them. The trials'
// ids determine the sample. The densities depend on what is known, not on the order in which it was
// learned.
class TpeGroup {
 public:
  static constexpr std::size_t kMostKernels = 1024;
  static constexpr std::size_t kCompared = 8;

  TpeGroup(const Space& space, std::vector<std::size_t> parameters, std::size_t levels);

  const std::vector<std::size_t>& parameters() const { return parameters_; }
  // The number of ranked trials.
  std::size_t ranked() const { return levels_.front().ranked.size() + failed_.ranked.size(); }

  // The trial must stay unchanged, and at the same address, until Remove.
  void Add(const TpeTrial& trial);
  void Remove(const TpeTrial& trial);

  struct Densities {
    Parzen good;
    Parzen bad;
  };
  // Needs at least one ranked trial. `pending`: coordinates of points to keep away from, like those
  // of running trials.
  Densities MakeDensities(std::span<const std::vector<double>> pending) const;

 private:
  using ById = std::map<TrialId, const TpeTrial*>;
  // Trials in order, and the sample of them from which `bad` is made.
  struct Ranking {
    std::map<std::pair<double, TrialId>, const TpeTrial*> ranked;
    ById sampled;
    int thinning = 0;  // one in 2^thinning trials is sampled

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
  std::vector<Ranking> levels_;  // by level: the trials that have passed it
  Ranking failed_;
  ById running_;
};

}  // namespace sluice
