#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "rig/stoppers/plain_stopper.h"

namespace sluice {

// Synchronous halving, written as it is defined. After each change of a bracket, all its levels are
// judged again, from the first on. A level has a number of places: so many trials go on to the next
// level. A trial goes on if its rank, plus the number of trials still without a value, is within
// the places. A trial loses if its rank is beyond the places.
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
  // Determines what is certain now: which trials have lost, and how far the others go. Returns
  // rulings on the trials that lost, but not on `except`.
  std::vector<Ruling> Judge(Bracket& bracket, TrialId except);
  // The trials that come to a level.
  struct Entrants {
    std::vector<Member*> known;  // certain to come
    std::size_t unknown = 0;     // how many others may come
  };
  // Returns those of the level's entrants that go on to the next level.
  Entrants Pass(const Bracket& bracket, std::size_t level, const Entrants& entrants);

  const StopperSpec spec_;
  std::vector<Plan> plans_;  // the first bracket has the first plan, and so on; then from the start
  std::deque<Bracket> brackets_;
  std::map<TrialId, std::size_t> home_;
};

}  // namespace sluice
