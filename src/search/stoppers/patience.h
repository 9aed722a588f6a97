#pragma once

#include <map>
#include <vector>

#include "search/stopper.h"

namespace sluice {

// Stops a trial that no longer improves, whatever the other trials do.
//
// A report improves on the trial's best if it is smaller by more than min_delta; then it becomes
// the best. At any other report of work w the trial stops if w is at least min_budget and at least
// `patience` beyond the work of its best (beyond 0 if it has reported nothing but NaN).
class Patience final : public Stopper {
 public:
  explicit Patience(const StopperSpec& spec) : spec_(spec) {}

  Work Admit(TrialId trial) override;
  // Returns no ruling if the trial was stopped or has ended.
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;
  std::optional<TrialGroup> Next() override { return std::nullopt; }

  void Save(StateWriter& writer) const override;
  Status Load(StateReader& reader) override;
  void AddTo(Digest& digest) const override;

 private:
  struct Best {
    double value;  // NaN: no value yet
    Work work = 0;
  };

  StopperSpec spec_;
  TrialId last_{};
  std::map<TrialId, Best> running_;
};

}  // namespace sluice
