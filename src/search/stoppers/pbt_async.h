#pragma once

#include <map>
#include <vector>

#include "search/rungs/ranking.h"
#include "search/stopper.h"
#include "search/stoppers/perturbation.h"

namespace sluice {

// Population-based training, asynchronous. A trial that reaches a stage is judged immediately: its
// value is compared with the values of the other trials, each at the last stage that the other
// trial has reached. If the trial is in the bottom quantile, a fork of a trial in the top quantile
// takes its place. No trial waits for the others.
//
// Trials that have ended are neither compared with nor forked from. Until a fork has reached a
// stage itself, it is ranked by the value of the trial it replaced, and is not forked from. Without
// that value, each trial that is replaced would raise the bar for the other trials. If no trial in
// the top quantile can be forked from (NaN, or forks without a value of their own), the trial goes
// on.
//
// A value costs O(log n) comparisons and moves O(n) memory; a fork costs O(n).
class PbtAsync final : public Stopper {
 public:
  explicit PbtAsync(const StopperSpec& spec) : rule_(spec) {}

  Work Admit(TrialId trial) override;
  void AdmitFork(TrialId trial, TrialId replaced) override;
  // Returns no ruling if the trial lost its place or has ended.
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;
  std::optional<TrialGroup> Next() override { return std::nullopt; }

  void Save(StateWriter& writer) const override;
  Status Load(StateReader& reader) override;
  void AddTo(Digest& digest) const override;

 private:
  struct Member {
    Work work = 0;            // last reported
    std::uint32_t stage = 0;  // the stage it is to reach
    bool has_value = false;   // whether it has a value at an earlier stage
    bool inherited = false;   // the value is that of the trial it replaced
    double value = 0;
  };
  void Forget(TrialId trial);
  void SetValue(TrialId trial, Member& member, double value);
  void DropValue(TrialId trial, Member& member);
  TrialId DonorFor(TrialId trial, double value, Work work) const;

  Perturbation rule_;
  TrialId last_{};
  std::map<TrialId, Member> members_;  // trials that have not ended
  std::vector<Mark> marks_;            // of the members with a value, best first
  // Losers until their forks are admitted, each with the state that its fork begins in.
  std::map<TrialId, Member> forking_;
};

}  // namespace sluice
