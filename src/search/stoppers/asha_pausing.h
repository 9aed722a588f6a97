#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "search/rungs/ranking.h"
#include "search/rungs/rungs.h"
#include "search/stopper.h"

namespace sluice {

// HyperSched's pausing ASHA (SoCC '19), which looks back. The target of every trial is the full
// budget. A report that reaches a rung is recorded there. At every report each rung that the trial
// has passed is looked at again: the trial pauses if the value it recorded at one of them is worse
// than the best 1/eta of that rung (the quantile with linear interpolation). A rung judges once it
// has two values. A trial that comes to a rung is compared with the values that were there before.
// Next resumes a paused trial that is no longer worse at any rung: first from the highest rung, and
// there the best trial. A trial with NaN at a rung could never be resumed, so it is stopped there.
class AshaPausing final : public Stopper {
 public:
  explicit AshaPausing(const StopperSpec& spec);

  Work Admit(TrialId trial) override;
  // Returns no ruling if the trial was stopped or has ended. A paused trial may still report. The
  // ruling is then kPause again, or kGoOn if the trial is no longer worse at any rung.
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;
  std::optional<TrialGroup> Next() override;
  bool Ready() const override { return IsSet(FirstReady()); }

  void Save(StateWriter& writer) const override;
  Status Load(StateReader& reader) override;
  void AddTo(Digest& digest) const override;

 private:
  enum class Phase : std::uint8_t { kRunning, kPaused, kEnded };
  struct Member {
    Phase phase = Phase::kRunning;
    std::vector<double> values;  // at the rungs that the trial has passed
  };
  struct BestFirst {
    bool operator()(const Mark& a, const Mark& b) const { return Better(a, b); }
  };

  Member& At(TrialId trial);
  void SetPhase(TrialId trial, Phase phase);
  // Whether the value is worse than the best 1/eta of the values recorded at the rung now.
  bool IsWorse(std::size_t rung, double value) const;
  bool IsWorseSomewhere(const Member& member) const;
  TrialId FirstReady() const;

  StopperSpec spec_;
  Rungs rungs_;
  std::vector<Member> members_;    // trial n is at n - 1
  std::vector<Ranking> rankings_;  // by rung; this and paused_ follow from the members
  std::vector<std::set<Mark, BestFirst>> paused_;  // by the highest rung that the trial has passed
};

}  // namespace sluice
