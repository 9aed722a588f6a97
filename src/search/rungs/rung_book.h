#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/rungs/ranking.h"
#include "search/rungs/rungs.h"
#include "search/stopper.h"

namespace sluice {

// What both kinds of ASHA write down: for each trial its next rung and whether it may still be
// ruled upon, for each rung the values recorded there. Judgement is on the value of the first
// report at or past a rung, never on a later one; a report that passes several rungs is recorded at
// each.
class RungBook {
 public:
  enum class Phase : std::uint8_t { kAbsent, kRunning, kPaused, kEnded };

  // `least_top`: how many of a rung are its top however few there are.
  RungBook(const StopperSpec& spec, std::size_t least_top);

  // The first target of a new trial.
  Work Admit(TrialId trial);
  Phase phase(TrialId trial) const { return At(trial).phase; }
  void SetPhase(TrialId trial, Phase phase);

  // The rung a trial has still to reach, as a number, and as work: the full budget after the last
  // rung.
  std::size_t NextRung(TrialId trial) const { return At(trial).next_rung; }
  Work Target(TrialId trial) const { return rungs_.Target(NextRung(trial)); }

  // Records a report at the rungs it reaches for the first time: [first, end), empty if there are
  // none.
  struct Reached {
    std::size_t first;
    std::size_t end;
  };
  Reached Record(TrialId trial, Work work, double value);

  const Rungs& rungs() const { return rungs_; }
  const Ranking& ranking(std::size_t rung) const { return rankings_[rung]; }
  // Whether a mark recorded at a rung is in its top now. NaN never is.
  bool InTop(std::size_t rung, const Mark& mark) const;

  void Save(StateWriter& writer) const;
  // Corruption, with the book as it was, on what Save does not write or a book of another spec
  // wrote.
  Status Load(StateReader& reader);
  void AddTo(Digest& digest) const;

 private:
  struct TrialState {
    Phase phase = Phase::kAbsent;
    std::uint8_t next_rung = 0;
  };
  TrialState At(TrialId trial) const;

  StopperSpec spec_;
  Rungs rungs_;
  std::vector<Ranking> rankings_;   // by rung
  std::vector<TrialState> trials_;  // by trial id
};

}  // namespace sluice
