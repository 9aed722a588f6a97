#pragma once

#include <cstddef>
#include <cstdint>

#include "search/stopper.h"

namespace sluice {

// What both kinds of population-based training share: when a member is judged, how many members
// lose, and which member is forked to replace a loser.
//
// Members are judged at stages: the multiples of the interval from min_budget on, below max_budget.
// After the last stage they run to max_budget.
class Perturbation {
 public:
  // More stages are refused: one report may pass all of them, and each passed stage costs time.
  static constexpr std::int64_t kMostStages = 100'000;

  explicit Perturbation(const StopperSpec& spec);

  // The interval of a spec; by default a tenth of max_budget, rounded up, and not below min_budget.
  static Work IntervalOf(const StopperSpec& spec);

  Work max_budget() const { return max_budget_; }
  std::uint32_t stages() const { return stages_; }
  // The work at which stage k is judged; max_budget past the last stage.
  Work At(std::uint32_t stage) const;
  // How many stages lie at or below this work.
  std::uint32_t Passed(Work work) const;
  // The size of the bottom quantile, and of the top quantile, of n members: ceil(n * quantile), at
  // most half of n.
  std::size_t Quantile(std::size_t n) const;
  // The index of the donor whose fork replaces the loser, among this many donors (at least one),
  // best first. The draw depends only on the study's seed, the loser and the work.
  std::size_t Draw(std::size_t donors, TrialId loser, Work work) const;

  // Writes the settings, so that a state made with other settings is not taken for ours.
  void Save(StateWriter& writer) const;
  // False if the state was made with other settings.
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
