#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "search/rungs/ranking.h"
#include "search/stopper.h"
#include "search/stoppers/perturbation.h"

namespace sluice {

class StateReader;
class StateWriter;

// One population of synchronous PBT. It has places; in each is a trial, and when that loses at a
// stage, a fork of another takes its place.
//
// The rule is that of waiting until everybody who lives has a value at the stage, sorting, and
// replacing the bottom quantile by forks of members of the top quantile. A value once recorded
// stays, that of a trial that ended since too, but only the living are replaced, or forked from: a
// place whose trial ended (failed, or is complete) stays empty. If nobody of the top can be forked
// from (NaN, or ended), the bottom goes on as it is. A trial that passes several stages in one
// report is recorded at each of them; what it recorded beyond the stage at which it loses counts
// for nothing.
//
// Nobody waits longer than is needed: who is certain to be in neither quantile, because there are
// as many better and as many worse ones as a quantile can hold, goes on at once. Who may be forked
// from waits, so that its checkpoint is the one of the stage. Until the population is closed, when
// it is known how many there are, all wait.
//
// O(log n) for a value, and O(stages not yet decided).
class Population {
 public:
  enum class Phase : std::uint8_t {
    kRunning,  // on its way to its stage, or to the full budget
    kPaused,   // at its stage, not judged yet
    kReady,    // goes on, but was not told so
    kOver,     // failed or complete
  };
  struct Place {
    TrialId trial{};
    Phase phase = Phase::kRunning;
    std::uint32_t stage = 0;    // the one it is to reach or be judged at
    Work work = 0;              // last reported by its trial
    std::vector<double> ahead;  // the values at that stage and those behind it
  };
  struct Fork {
    TrialId loser{};
    TrialId donor{};
    Work target = 0;  // of the new trial: the first stage that the donor has not passed
  };
  // What was settled.
  struct Settled {
    std::vector<TrialId> ready;  // trials that now are kReady, by id
    std::vector<Fork> forks;     // by loser; Replace is to follow for each
  };

  explicit Population(const Perturbation& rule) : rule_(rule) {}

  bool closed() const { return closed_; }
  bool done() const { return closed_ && over_ == places_.size(); }
  Work target(const Place& place) const { return rule_.At(place.stage); }
  // Null for a trial that has no place, or no longer.
  const Place* Find(TrialId trial) const;
  const std::vector<Place>& places() const { return places_; }

  void Admit(TrialId trial);
  // Puts the fork in the place of the trial that lost it.
  void Replace(TrialId loser, TrialId fork);
  // After it the reporting trial is kPaused, kOver, replaced, or kRunning with a target beyond its
  // work; it is not among the ready.
  Settled Report(TrialId trial, Work work, double value);
  Settled End(TrialId trial);
  // Nobody else will come.
  Settled Close();
  // A kReady trial was told.
  void Release(TrialId trial);
  // One that may go on, and is not told so yet after all: it is kReady.
  void Hold(TrialId trial);

  void Save(StateWriter& writer) const;
  // Into a new population; Corruption on what Save does not write.
  Status Load(StateReader& reader);

 private:
  using Marks = std::set<Mark, decltype(&Better)>;
  // A stage that is not decided, with those who came to it.
  struct Stage {
    std::size_t coming = 0;  // without a value yet
    std::size_t valued = 0;  // with one, also those who went on since
    Marks upper{&Better};    // of those who wait the best, as many as a quantile can hold
    Marks lower{&Better};    // and the others: the worst
  };

  Place& At(TrialId trial);
  void SetOver(Place& place);
  void Enter(Place& place);
  void Arrive(Place& place);
  void Pass(const Mark& mark);
  void Settle();
  void Decide(std::uint32_t number, Stage& stage);
  Settled Take(TrialId except);

  Perturbation rule_;
  bool closed_ = false;
  std::vector<Place> places_;
  std::map<TrialId, std::size_t> index_;  // of the trials that have a place
  std::size_t over_ = 0;
  std::map<std::uint32_t, Stage> stages_;
  Settled settled_;
};

}  // namespace sluice
