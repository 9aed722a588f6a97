#pragma once

#include "search/rungs/rung_book.h"
#include "search/stopper.h"

namespace sluice {

// Asynchronous successive halving that stops trials and never pauses one.
//
// When a report reaches a rung, the value is recorded there and ranked among all n values recorded
// there so far. These include the value itself, and the values of stopped, failed and complete
// trials. The trial goes on if its value is not NaN and its rank is at most max(1, floor(n / eta)).
// With fewer than eta values, only the best value so far goes on. A report that reaches several
// rungs is recorded and judged at each; one adverse judgement stops the trial. There is no second
// look: a trial that goes on is safe until its next rung. At the full budget values are recorded,
// and the trial is complete without a ruling.
//
// The alternative, asha-promotion, wastes no work on early arrivals but needs checkpoints.
class Asha final : public Stopper {
 public:
  explicit Asha(const StopperSpec& spec) : book_(spec, /*least_top=*/1) {}

  Work Admit(TrialId trial) override { return book_.Admit(trial); }
  // Returns no ruling if the trial was stopped or has ended.
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;
  std::optional<TrialGroup> Next() override { return std::nullopt; }

  void Save(StateWriter& writer) const override { book_.Save(writer); }
  Status Load(StateReader& reader) override { return book_.Load(reader); }
  void AddTo(Digest& digest) const override;

 private:
  RungBook book_;
};

}  // namespace sluice
