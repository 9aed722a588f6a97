#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "search/rungs/ranking.h"
#include "search/rungs/rungs.h"
#include "search/stopper.h"

namespace sluice {

// HyperSched's pausing ASHA (SoCC '19), which looks back. Everybody is on its way to the full budget.
// A report that reaches a rung is recorded there, and at every report each rung that the trial has
// passed is looked at again: a trial pauses if what it recorded at one of them is worse than the best
// 1/eta of that rung, by the quantile with linear interpolation. A rung judges once it has two values;
// a trial that comes to a rung is compared with those that were there before it. Next resumes paused
// trials that are worse nowhere any more: of those at the highest rung the best. NaN, which never is,
// stops a trial when it comes to a rung.
class AshaPausing final : public Stopper {
 public:
  explicit AshaPausing(const StopperSpec& spec);

  Work Admit(TrialId trial) override;
  // Nothing for a trial that was stopped or has ended. A paused trial may still report: kPause again,
  // or kGoOn if it is worse nowhere any more.
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
    std::vector<double> values;  // at the rungs it has passed
  };
  struct BestFirst {
    bool operator()(const Mark& a, const Mark& b) const { return Better(a, b); }
  };

  Member& At(TrialId trial);
  void SetPhase(TrialId trial, Phase phase);
  // Whether this is worse than the best 1/eta of what is recorded at the rung now.
  bool IsWorse(std::size_t rung, double value) const;
  bool IsWorseSomewhere(const Member& member) const;
  TrialId FirstReady() const;

  StopperSpec spec_;
  Rungs rungs_;
  std::vector<Member> members_;    // trial n is at n - 1
  std::vector<Ranking> rankings_;  // by rung; these and the next follow from the members
  std::vector<std::set<Mark, BestFirst>> paused_;  // by the highest rung they have passed
};

}  // namespace sluice
