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

// One population of synchronous PBT. It has places, each held by a trial. When that trial loses at
// a stage, a fork of another trial takes its place.
//
// The rule is to wait until every live trial has a value at the stage, to sort, and to replace the
// bottom quantile by forks of trials in the top quantile. A recorded value stays, even if its trial
// has ended since. But only live trials are replaced or forked from: a place with a trial that
// ended (failed, or is complete) stays empty. If no trial of the top can be forked from (NaN, or
// ended), the bottom goes on as it is. A report that passes several stages is recorded at each of
// them. Values that a trial recorded beyond the stage at which it loses are dropped.
//
// No trial waits once it is certain to be in neither quantile. That is so if at least as many
// trials are better as a quantile can hold, and at least as many are worse. A trial that may be
// forked from waits, so that its checkpoint is that of the stage. All trials wait until the
// population is closed, since its size is not known before.
//
// A value costs O(log n) and O(stages not yet decided).
class Population {
 public:
  enum class Phase : std::uint8_t {
    kRunning,  // on its way to its stage, or to the full budget
    kPaused,   // at its stage, its fate not settled yet
    kReady,    // goes on, but was not resumed yet
    kOver,     // failed or complete
  };
  struct Place {
    TrialId trial{};
    Phase phase = Phase::kRunning;
    std::uint32_t stage = 0;    // the stage it is to reach or be judged at
    Work work = 0;              // last reported by its trial
    std::vector<double> ahead;  // the values at that stage and at later ones
  };
  struct Fork {
    TrialId loser{};
    TrialId donor{};
    Work target = 0;  // of the new trial: the first stage that the donor has not passed
  };
  // The fates that were settled by a call.
  struct Settled {
    std::vector<TrialId> ready;  // trials that are kReady now, by id
    std::vector<Fork> forks;     // by loser; the caller follows with Replace for each
  };

  explicit Population(const Perturbation& rule) : rule_(rule) {}

  bool closed() const { return closed_; }
  bool done() const { return closed_ && over_ == places_.size(); }
  Work target(const Place& place) const { return rule_.At(place.stage); }
  // Null for a trial that has no place, or has lost it.
  const Place* Find(TrialId trial) const;
  const std::vector<Place>& places() const { return places_; }

  void Admit(TrialId trial);
  // Puts the fork in the place of the trial that lost.
  void Replace(TrialId loser, TrialId fork);
  // After the call the reporting trial is kPaused, kOver, replaced, or kRunning with a target
  // beyond its work. It is not among Settled::ready.
  Settled Report(TrialId trial, Work work, double value);
  Settled End(TrialId trial);
  // No more trials will come.
  Settled Close();
  // A kReady trial was resumed.
  void Release(TrialId trial);
  // Makes a running trial kReady, to be resumed later.
  void Hold(TrialId trial);

  void Save(StateWriter& writer) const;
  // Loads into a new population. Fails with Corruption on a state that Save does not write.
  Status Load(StateReader& reader);

 private:
  using Marks = std::set<Mark, decltype(&Better)>;
  // A stage that is not decided, with the trials that came to it.
  struct Stage {
    std::size_t coming = 0;  // trials without a value yet
    std::size_t valued = 0;  // trials with a value, also those that went on since
    Marks upper{&Better};    // the best of the waiting trials, as many as a quantile can hold
    Marks lower{&Better};    // the other waiting trials: the worst
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
  std::map<TrialId, std::size_t> index_;  // by trial: its place
  std::size_t over_ = 0;
  std::map<std::uint32_t, Stage> stages_;
  Settled settled_;
};

}  // namespace sluice
