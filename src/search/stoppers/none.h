#pragma once

#include "search/stopper.h"

namespace sluice {

// Every trial runs to the full budget.
class NoStopper final : public Stopper {
 public:
  explicit NoStopper(const StopperSpec& spec) : max_budget_(spec.max_budget) {}

  Work Admit(TrialId) override { return max_budget_; }
  std::vector<Ruling> Report(TrialId, Work, double) override { return {}; }
  std::vector<Ruling> End(TrialId, bool) override { return {}; }
  std::optional<TrialGroup> Next() override { return std::nullopt; }

  // Nothing to keep.
  void Save(StateWriter&) const override {}
  Status Load(StateReader&) override { return {}; }
  void AddTo(Digest& digest) const override;

 private:
  Work max_budget_;
};

}  // namespace sluice
