#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "rig/plain_stopper.h"

namespace sluice {

// Synchronous halving by its definition. After everything that happens to a bracket, it is judged
// from its first level on. A trial goes on if its rank plus the number of trials still without a
// value is within the places. It loses if its rank is beyond the places.
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
    std::size_t level = 0;       // the level it goes to, or waits at
    std::vector<double> values;  // the first value at or past each level
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
  // Works out what is certain now: which trials have lost, and how far the others go. Returns
  // rulings on the trials that lost, without `except`.
  std::vector<Ruling> Judge(Bracket& bracket, TrialId except);
  // The trials that come to a level.
  struct Entrants {
    std::vector<Member*> known;  // certain to come
    std::size_t unknown = 0;     // how many others may come
  };
  // Of the trials that come to a level, those that go on to the next.
  Entrants Pass(const Bracket& bracket, std::size_t level, const Entrants& entrants);

  const StopperSpec spec_;
  std::vector<Plan> plans_;  // brackets take them in turn
  std::deque<Bracket> brackets_;
  std::map<TrialId, std::size_t> home_;
};

}  // namespace sluice
