#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/ids.h"
#include "search/parzen.h"
#include "search/sampler.h"
#include "space/space.h"

namespace sluice {

// How good a trial was, as the estimator sees it; smaller is better. Complete trials come first, by
// loss; then those that have a value and were stopped, or still run or wait, by how far they came
// and then by loss, since what a stopper let go far was better than what it did not; then those
// that ended without a value, failed ones among them.
struct TrialRank {
  enum class Kind : std::uint8_t { kWhole, kPart, kNothing };
  Kind kind = Kind::kNothing;
  Work work = 0;    // of a part
  double loss = 0;  // not NaN
  TrialId trial{};

  bool operator<(const TrialRank& other) const;
};

// Nothing for a trial that runs and has no value yet.
std::optional<TrialRank> RankOf(const Observation& observation);

// What is known of the trials in which one group of parameters is active, and the two densities
// that follow from it: `good` of the best tenth, `bad` of the others, of which beyond kMostKernels
// a sample is taken that their ids determine. What it answers depends on what is known, not on the
// order in which it was learned.
class TpeGroup {
 public:
  static constexpr std::size_t kMostKernels = 1024;

  TpeGroup(const Space& space, std::vector<std::size_t> parameters);

  const std::vector<std::size_t>& parameters() const { return parameters_; }
  // How many trials have a rank.
  std::size_t ranked() const { return ranked_.size(); }

  // `unit`: the trial's coordinates over the whole space; they must stay where they are until
  // Remove. Without a rank the trial is running.
  void Add(TrialId trial, const std::optional<TrialRank>& rank, const std::vector<double>& unit);
  void Remove(TrialId trial, const std::optional<TrialRank>& rank);

  struct Densities {
    Parzen good;
    Parzen bad;
  };
  // Of at least one ranked trial. `pending`: coordinates of points that are to be kept away from,
  // as running trials are.
  Densities MakeDensities(std::span<const std::vector<double>> pending) const;

 private:
  using Unit = const std::vector<double>*;
  struct Rows;
  void Resample();
  Rows GoodRows(const std::set<TrialId>& good) const;
  Rows BadRows(const std::set<TrialId>& good, std::span<const std::vector<double>> pending) const;

  std::vector<std::size_t> parameters_;
  std::vector<Axis> axes_;
  std::map<TrialRank, Unit> ranked_;
  std::map<TrialId, Unit> sampled_;  // of the ranked: what `bad` is made of
  std::map<TrialId, Unit> running_;
  int level_ = 0;  // one of 2^level is sampled
};

}  // namespace sluice
