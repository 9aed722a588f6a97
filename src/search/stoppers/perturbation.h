#pragma once

#include <cstddef>
#include <cstdint>

#include "search/stopper.h"

namespace sluice {

// What both kinds of population-based training share: when a member is judged, how many lose, and
// whom a loser is replaced by a fork of.
//
// Members are judged at the multiples of the interval from min_budget on, below max_budget; after
// the last of these stages they run to max_budget.
class Perturbation {
 public:
  // More stages than this are refused: a report may pass all of them.
  static constexpr std::int64_t kMostStages = 100'000;

  explicit Perturbation(const StopperSpec& spec);

  // Of a spec that sets none: a tenth of max_budget, rounded up, and not below min_budget.
  static Work IntervalOf(const StopperSpec& spec);

  Work max_budget() const { return max_budget_; }
  std::uint32_t stages() const { return stages_; }
  // Where stage k is judged; max_budget past the last.
  Work At(std::uint32_t stage) const;
  // How many stages are at or below so much work.
  std::uint32_t Passed(Work work) const;
  // How many of n are the bottom, and how many the top: ceil(n * quantile), at most half of them.
  std::size_t Quantile(std::size_t n) const;
  // Which of so many donors, best first, a loser is replaced by a fork of: a draw that depends on
  // the study's seed, the loser and the work alone. There is one at least.
  std::size_t Draw(std::size_t donors, TrialId loser, Work work) const;

  // What it was made of, so that a state of another one is not taken for ours.
  void Save(StateWriter& writer) const;
  // False on another one's.
  bool Matches(StateReader& reader) const;

 private:
  Work max_budget_;
  Work interval_;
  Work first_;
  std::uint32_t stages_;
  std::int64_t share_;  // the quantile in thousandths
  std::uint64_t seed_;
};

}  // namespace sluice
