#pragma once

#include <map>
#include <vector>

#include "search/rungs/ranking.h"
#include "search/stopper.h"
#include "search/stoppers/perturbation.h"

namespace sluice {

// Population-based training, asynchronous: a trial that reaches a stage is judged at once by its
// value there, against the value of every other trial at the last stage that it has reached. If it
// is in the bottom quantile, a fork of one of the top quantile takes its place. Nobody waits for
// the others.
//
// Trials that have ended are neither compared with nor forked from. A fork stands in the ranking
// with the value of the trial it replaced until it has reached a stage itself, and is not forked
// from before: without it the bar would rise with everyone who loses. If nobody in the top can be
// forked from (NaN), the trial goes on.
//
// A value costs O(log n) comparisons and O(n) memory that is moved, a fork O(n).
class PbtAsync final : public Stopper {
 public:
  explicit PbtAsync(const StopperSpec& spec) : rule_(spec) {}

  Work Admit(TrialId trial) override;
  void AdmitFork(TrialId trial, TrialId replaced) override;
  // Nothing for a trial that lost its place or has ended.
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;
  std::optional<TrialGroup> Next() override { return std::nullopt; }

  void Save(StateWriter& writer) const override;
  Status Load(StateReader& reader) override;
  void AddTo(Digest& digest) const override;

 private:
  struct Member {
    Work work = 0;            // last reported
    std::uint32_t stage = 0;  // the one it is to reach
    bool has_value = false;   // at an earlier one
    bool inherited = false;   // of the trial it replaced
    double value = 0;
  };
  void Forget(TrialId trial);
  void SetValue(TrialId trial, Member& member, double value);
  void DropValue(TrialId trial, Member& member);
  TrialId DonorFor(TrialId trial, double value, Work work) const;

  Perturbation rule_;
  TrialId last_{};
  std::map<TrialId, Member> members_;  // that have not ended
  std::vector<Mark> marks_;            // of those that have a value, best first
  std::map<TrialId, Member> forking_;  // who lost, until the fork is there: what that begins with
};

}  // namespace sluice
