#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "search/stopper.h"
#include "search/stoppers/perturbation.h"
#include "search/stoppers/population.h"

namespace sluice {

// Population-based training, synchronous: the trials of a study are a population that is judged at
// every interval (Population). Trials that are admitted after the population was closed form
// another population.
//
// Next gives all trials of a population that may go on to one stage; the furthest stage comes
// first. If a trial's own report settles a stage and the trial is a donor there, the trial pauses
// like the other donors. So it saves a checkpoint that the fork can copy.
class Pbt final : public Stopper {
 public:
  explicit Pbt(const StopperSpec& spec) : rule_(spec) {}

  Work Admit(TrialId trial) override;
  void AdmitFork(TrialId trial, TrialId replaced) override;
  // Returns no ruling if the trial lost its place or has ended. A paused trial may still report.
  // The ruling is then kPause again, unless the trial may go on by now.
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;
  std::vector<Ruling> Closed() override;
  std::optional<TrialGroup> Next() override;
  bool Ready() const override { return !ready_.empty(); }
  bool Gathers() const override { return true; }

  void Save(StateWriter& writer) const override;
  Status Load(StateReader& reader) override;
  void AddTo(Digest& digest) const override;

 private:
  // By the number of populations that were opened before.
  using Populations = std::map<std::uint32_t, Population>;
  using ReadyKey = std::pair<Work, std::uint32_t>;  // minus the target, and the population
  // populations_.end() for a trial that is over.
  Populations::iterator Find(TrialId trial);
  std::vector<Ruling> Rule(Populations::iterator at, const Population::Settled& settled);
  void SetReady(Populations::const_iterator at, TrialId trial, bool ready);

  Perturbation rule_;
  TrialId last_{};
  std::uint32_t opened_ = 0;
  Populations populations_;                      // populations with trials that are not over
  std::map<TrialId, std::uint32_t> home_;        // by trial: the population it belongs to
  std::map<ReadyKey, std::set<TrialId>> ready_;  // follows from the populations
};

}  // namespace sluice
