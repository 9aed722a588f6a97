#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "search/rungs/bracket_plan.h"
#include "search/rungs/ranking.h"
#include "search/stopper.h"

namespace sluice {

class StateReader;
class StateWriter;

// One bracket of synchronous successive halving. Its trials go to the first level. The best of
// them, as many as there are places, go on to the second level, and so on. Trials that go on from
// the last level run to the full budget. The rule is to wait until all trials have a value at a
// level, to sort them and to take the best. A trial with NaN never goes on. A trial that ended
// before the level counts as the worst there. A recorded value stays. Ties go to the smaller id.
//
// But no trial waits once its fate is certain. A trial goes on as soon as its rank among the trials
// with a value, plus the number of trials still without a value, is at most the number of places. A
// trial has lost as soon as there are as many better trials as places. Trials that may still come
// to a level, because they were not admitted yet or were not judged at the level below, count as
// trials without a value. What is certain stays certain whatever happens later, even if the bracket
// is closed. So the outcome follows from the values alone and not from the order in which they
// came.
//
// A value costs O(log n + levels), amortised.
class Bracket {
 public:
  enum class Phase : std::uint8_t {
    kRunning,  // on its way to its target
    kPaused,   // at a level, its fate not settled yet
    kReady,    // goes on, but was not resumed yet
    kOver,     // lost, failed or complete
  };
  struct Member {
    TrialId trial{};
    Phase phase = Phase::kRunning;
    // The level it is to reach or be judged at. Past the last: the full budget.
    std::uint8_t level = 0;
    std::vector<double> values;  // the first value reported at or past each level
  };

  Bracket(const BracketPlan& plan, const StopperSpec& spec);

  bool full() const { return static_cast<std::int64_t>(members_.size()) == capacity_; }
  bool done() const { return full() && over_ == members_.size(); }
  Work target(const Member& member) const;
  // Null for a trial that is not in this bracket.
  const Member* Find(TrialId trial) const;
  const std::vector<Member>& members() const { return members_; }

  // Report, End and Close settle every fate that has become certain. They return the other trials
  // whose fate was settled, each once, in their new phase: kReady or kOver.
  void Admit(TrialId trial);
  // After the call the reporting trial is kPaused, kOver, or kRunning with a target beyond its
  // work.
  std::vector<Member> Report(TrialId trial, Work work, double value);
  std::vector<Member> End(TrialId trial);
  // No more trials will come: the places are now those of a bracket with the members there are.
  std::vector<Member> Close();
  // A kReady trial was resumed.
  void Release(TrialId trial);

  void Save(StateWriter& writer) const;
  // Loads into a new bracket. Fails with Corruption on a state that Save does not write.
  Status Load(StateReader& reader);

 private:
  struct Rung {
    std::int64_t coming = 0;    // members of this level without a value here
    std::int64_t promoted = 0;  // members that went on from here
    std::set<Mark, decltype(&Better)> waiting{&Better};
  };

  std::size_t IndexOf(TrialId trial) const;
  bool HasArrived(const Member& member) const;
  void SetOver(Member& member);
  void Enter(std::size_t index);
  void Arrive(std::size_t index);
  void Settle();
  std::vector<Member> Concerned(std::size_t except);
  Status Rebuild();

  std::vector<Work> levels_;
  Work max_budget_;
  std::int64_t eta_;
  std::int64_t capacity_;
  std::vector<std::int64_t> places_;  // by level: how many trials go on
  std::vector<Member> members_;       // by id
  std::size_t over_ = 0;              // members that are over
  std::vector<Rung> rungs_;           // by level
  // Members with a fate that was settled since the last answer.
  std::vector<std::size_t> touched_;
};

}  // namespace sluice
