#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "rig/plain_stopper.h"

namespace sluice {

// Synchronous halving by its definition. After everything that happens each bracket is judged from
// its first level on: a trial goes on if its rank and those still without a value are together within
// the places, and loses if its rank is beyond them.
class PlainHalving final : public PlainStopper {
 public:
  explicit PlainHalving(const StopperSpec& spec);

  Work Admit(TrialId trial) override;
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;
  std::vector<Ruling> Closed() override;
  std::optional<TrialGroup> Next() override;

 private:
  enum class Phase { kGoing, kPaused, kReady, kOver };
  struct Member {
    TrialId trial{};
    Phase phase = Phase::kGoing;
    std::size_t level = 0;       // it goes to, or waits at
    std::vector<double> values;  // the first at or past each level
  };
  struct Plan {
    std::vector<Work> levels;
    std::size_t trials = 0;
  };
  struct Bracket {
    Plan plan;
    std::vector<Member> members;
  };

  Work TargetOf(const Bracket& bracket, const Member& member) const;
  // What is certain now: who has lost, and how far the others go. Rulings on those that lost.
  std::vector<Ruling> Judge(Bracket& bracket, TrialId except);
  // Of those that are certain to come to a level, who is certain to go on from it.
  struct Entrants {
    std::vector<Member*> known;
    std::size_t unknown = 0;  // may come too
  };
  Entrants Pass(const Bracket& bracket, std::size_t level, const Entrants& entrants);

  const StopperSpec spec_;
  std::vector<Plan> plans_;  // in turn
  std::deque<Bracket> brackets_;
  std::map<TrialId, std::size_t> home_;
};

}  // namespace sluice
