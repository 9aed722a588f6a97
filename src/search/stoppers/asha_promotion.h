#pragma once

#include <vector>

#include "search/rungs/rung_book.h"
#include "search/stopper.h"

namespace sluice {

// Asynchronous successive halving as published: trials pause at each rung until they are promoted.
//
// A trial is promotable if its value is among the best floor(n / eta) of the n values recorded at a
// rung so far (those of ended trials count too) and it waits at this rung: not promoted before, not
// ended, not NaN. A report that reaches a rung promotes its trial immediately if that makes the
// trial promotable, and pauses it otherwise. A trial with NaN can never be promoted, so it is
// stopped. A report that reaches several rungs is recorded at each, counts as promoted at all but
// the highest, and is judged there. Next promotes the best promotable trial of the highest rung
// that has one. At the full budget values are recorded, and the trial is complete without a ruling.
class AshaPromotion final : public Stopper {
 public:
  explicit AshaPromotion(const StopperSpec& spec);

  Work Admit(TrialId trial) override { return book_.Admit(trial); }
  // Returns no ruling if the trial was stopped or has ended. A paused trial may still report,
  // because a report was on its way or its program does not speak the protocol. The ruling is
  // kPause again, unless the report reaches further rungs.
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;
  std::optional<TrialGroup> Next() override;
  bool MayResume() const override { return true; }  // only Next knows

  void Save(StateWriter& writer) const override { book_.Save(writer); }
  Status Load(StateReader& reader) override;
  void AddTo(Digest& digest) const override;

 private:
  bool WaitsAt(std::size_t rung, TrialId trial) const;

  RungBook book_;
  // By rung: a heap of the trials that were paused there, the best in front. A trial that no longer
  // waits is dropped when it comes to the front. These heaps follow from the book.
  std::vector<std::vector<Mark>> waiting_;
};

}  // namespace sluice
