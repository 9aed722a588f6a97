#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "search/rungs/bracket.h"
#include "search/rungs/bracket_plan.h"
#include "search/stopper.h"

namespace sluice {

// Synchronous successive halving (sha) and Hyperband. Hyperband fills several brackets of halving
// one after the other, with different first budgets (PlanBrackets).
//
// Trials fill one bracket after the other in order of admission. A trial pauses at each level until
// its fate is certain (Bracket). Then the trial is stopped or goes on. It goes on immediately if it
// is the trial that reported, otherwise when Next resumes it. Next gives all trials that may go on
// to one level of one bracket as one group. Groups with a higher target come first, and of those
// with one target the group of the older bracket. A bracket that is not full when no more trials
// come is closed with the members it has; later trials begin a new bracket. A bracket is forgotten
// when all its trials are over.
class Halving final : public Stopper {
 public:
  explicit Halving(const StopperSpec& spec) : spec_(spec), plans_(PlanBrackets(spec)) {}

  Work Admit(TrialId trial) override;
  // Returns no ruling if the trial was stopped or has ended. A paused trial may still report. The
  // ruling is then kPause again, unless the trial may go on by now.
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;
  std::vector<Ruling> Closed() override;
  std::optional<TrialGroup> Next() override;
  bool Ready() const override { return !ready_.empty(); }

  void Save(StateWriter& writer) const override;
  Status Load(StateReader& reader) override;
  void AddTo(Digest& digest) const override;

 private:
  struct Opened {
    std::uint64_t number;  // how many brackets were opened before it
    Bracket bracket;
  };
  using Brackets = std::map<TrialId, Opened>;  // by their first trial
  using ReadyKey = std::pair<Work, TrialId>;   // minus the target, and the bracket
  // brackets_.end() for a trial that is over.
  Brackets::iterator Find(TrialId trial);
  const BracketPlan& PlanOf(std::uint64_t number) const { return plans_[number % plans_.size()]; }
  // The rulings on trials that a bracket has settled.
  std::vector<Ruling> Rule(Brackets::iterator bracket,
                           const std::vector<Bracket::Member>& concerned);
  void SetReady(Brackets::const_iterator bracket, const Bracket::Member& member, bool ready);

  StopperSpec spec_;
  std::vector<BracketPlan> plans_;
  TrialId last_{};
  std::uint64_t opened_ = 0;
  Brackets brackets_;                            // brackets with trials that are not over
  std::map<ReadyKey, std::set<TrialId>> ready_;  // trials to resume; follows from the brackets
};

}  // namespace sluice
