#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/rungs/ranking.h"
#include "search/rungs/rungs.h"
#include "search/stopper.h"

namespace sluice {

// The records of asha and asha-promotion. For each trial: its next rung and whether it may still be
// ruled upon. For each rung: the values recorded there. A trial is judged by the first report at or
// past a rung, never by a later one. A report that passes several rungs is recorded at each.
class RungBook {
 public:
  enum class Phase : std::uint8_t { kAbsent, kRunning, kPaused, kEnded };

  // `least_top`: the least number of marks in the top of a rung, however few there are.
  RungBook(const StopperSpec& spec, std::size_t least_top);

  // The first target of a new trial.
  Work Admit(TrialId trial);
  Phase phase(TrialId trial) const { return At(trial).phase; }
  void SetPhase(TrialId trial, Phase phase);

  // The rung that a trial is to reach next, as a number and as work. After the last rung that is
  // the full budget.
  std::size_t NextRung(TrialId trial) const { return At(trial).next_rung; }
  Work Target(TrialId trial) const { return rungs_.Target(NextRung(trial)); }

  // Records a report at the rungs that it reaches for the first time: [first, end), empty if there
  // are none.
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
  // Fails with Corruption on a state that Save does not write or that a book of another spec wrote.
  // The book is then unchanged.
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
