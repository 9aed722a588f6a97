#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "search/stopper.h"

namespace sluice {

// A stopper written down as it is defined. It makes each decision from all reports, by sorting, and
// keeps little state. It is slow, but short enough to be checked by reading. Tests and the rig's
// checker compare the real stoppers with it; it shares only the random numbers with them. The same
// calls must give the same rulings as the real stopper's, and Next the same groups. It cannot be
// saved.
class PlainStopper {
 public:
  virtual ~PlainStopper() = default;
  virtual Work Admit(TrialId trial) = 0;
  virtual void AdmitFork(TrialId trial, TrialId replaced);
  virtual std::vector<Ruling> Report(TrialId trial, Work work, double value) = 0;
  virtual std::vector<Ruling> End(TrialId trial, bool failed) = 0;
  virtual std::vector<Ruling> Closed() { return {}; }
  virtual std::optional<TrialGroup> Next() { return std::nullopt; }
};

// The spec must be one that MakeStopper accepts.
std::unique_ptr<PlainStopper> MakePlainStopper(const StopperSpec& spec);

// Smaller values first, NaN last, ties by the smaller id.
struct PlainMark {
  double value = 0;
  TrialId trial{};
};
void SortMarks(std::vector<PlainMark>& marks);
// How many of the marks come before this one.
std::size_t RankOf(const std::vector<PlainMark>& marks, const PlainMark& mark);

// min_budget * eta^k, while below max_budget.
std::vector<Work> HalvingLevels(const StopperSpec& spec);

}  // namespace sluice
