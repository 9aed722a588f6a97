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

// One bracket of synchronous successive halving. Its trials go to the first level; the best of them,
// as many as there are places, go on to the second, and so on; those that go on from the last level
// run to the full budget. The rule is that of waiting until all have a value at a level, sorting and
// taking the best: NaN never goes on, a trial that ended before the level is the worst there, a value
// once recorded stays, ties go to the smaller id.
//
// But nobody waits longer than is needed. A trial goes on as soon as that is certain: its rank among
// those with a value and the number still without one are together at most the places; it is lost as
// soon as there are as many better ones as places. Trials that may still come to a level, because
// they were not admitted yet or are not judged below, count as without a value. What is certain stays
// so whatever happens later, a closing of the bracket included, so the outcome follows from the values
// alone and not from the order in which they came.
//
// O(log n) for a value, and O(levels).
class Bracket {
 public:
  enum class Phase : std::uint8_t {
    kRunning,  // on its way to its target
    kPaused,   // at a level, not judged yet
    kReady,    // goes on, but was not told so
    kOver,     // lost, failed or complete
  };
  struct Member {
    TrialId trial{};
    Phase phase = Phase::kRunning;
    std::uint8_t level =
        0;  // the one it is to reach or be judged at; past the last: the full budget
    std::vector<double> values;  // the first reported at or past each level
  };

  Bracket(const BracketPlan& plan, const StopperSpec& spec);

  bool full() const { return static_cast<std::int64_t>(members_.size()) == capacity_; }
  bool done() const { return full() && over_ == members_.size(); }
  Work target(const Member& member) const;
  // Null for a trial that is not in this bracket.
  const Member* Find(TrialId trial) const;
  const std::vector<Member>& members() const { return members_; }

  // The following settle what can be settled, and give the other trials that this concerns, each once,
  // as they are now: kReady or kOver.
  void Admit(TrialId trial);
  // After it the reporting trial is kPaused, kOver, or kRunning with a target beyond its work.
  std::vector<Member> Report(TrialId trial, Work work, double value);
  std::vector<Member> End(TrialId trial);
  // Nobody else will come: the places are those of the members there are.
  std::vector<Member> Close();
  // A kReady trial was told.
  void Release(TrialId trial);

  void Save(StateWriter& writer) const;
  // Into a new bracket; Corruption on what Save does not write.
  Status Load(StateReader& reader);

 private:
  struct Rung {
    std::int64_t coming = 0;    // members without a value here
    std::int64_t promoted = 0;  // gone on from here
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
  std::vector<std::int64_t> places_;  // by level: how many go on
  std::vector<Member> members_;       // by id
  std::size_t over_ = 0;              // of them
  std::vector<Rung> rungs_;           // by level
  std::vector<std::size_t> touched_;  // members whose fate was settled since the last answer
};

}  // namespace sluice
