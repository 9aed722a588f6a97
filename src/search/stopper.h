#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/ids.h"
#include "base/result.h"

namespace sluice {

class StateReader;
class StateWriter;

// Advance one trial to a target.
struct Advance {
  TrialId trial{};
  Work target = kNoLimit;
  friend bool operator==(const Advance&, const Advance&) = default;
};

// The only thing a search asks of the cluster: advance each of these trials to its target.
struct TrialGroup {
  std::vector<Advance> members;
};

enum class Verdict {
  kGoOn,   // to the ruling's target
  kPause,  // save, release the devices, perhaps to be resumed
  kStop,   // end for good
  kFork,   // end for good; a new trial takes its place, from the checkpoint of another
};

// What becomes of a trial.
struct Ruling {
  TrialId trial{};
  Verdict verdict = Verdict::kGoOn;
  Work target = kNoLimit;  // with kGoOn; with kFork that of the new trial
  TrialId from{};          // with kFork: whose checkpoint the new trial begins from
  friend bool operator==(const Ruling&, const Ruling&) = default;
};

// Judges trials by what they report. A pure state machine inside the engine: the same calls in the
// same order give the same rulings. Values are turned so that smaller is better; NaN (diverged, or
// no metric) is the worst; ties go to the smaller trial id.
//
// The engine calls
//   Admit    once for each new trial, in order of ids: how far it goes at first;
//   AdmitFork  for each kFork as soon as it is ruled, in their order: the new trial that takes the
//            place of the one that lost. How far it goes at first was said in the ruling. It begins
//            at the work of the other's checkpoint, or at none;
//   Report   for each accepted report, work rising strictly within a trial: what becomes of this
//            and other trials. A trial whose work has reached its target always gets a ruling here,
//            a kGoOn among them having a target beyond its work, unless the target was the study's
//            full budget: then it is complete;
//   End      when a trial has ended for good without a kStop (complete, failed), once: it is never
//            ruled upon again, but its end may settle what becomes of others;
//   Closed   when no more trials will come, as often as it likes: what waited for them waits no
//            longer. Should more come all the same (the study is resumed), they are admitted as ever;
//   Next     when devices are free: a group of paused trials worth resuming, or nothing;
//   Ready    whether to ask Next for what a report made ready, even if no launch has ended since.
// A ruling on another trial than the one that reported is a kStop or a kFork: paused trials are
// resumed by Next alone. A kFork is from a trial that has not ended, and that is not the one it
// ends; its target is beyond what that one has reported.
class Stopper {
 public:
  virtual ~Stopper() = default;
  virtual Work Admit(TrialId trial) = 0;
  virtual void AdmitFork(TrialId trial, TrialId replaced);
  virtual std::vector<Ruling> Report(TrialId trial, Work work, double value) = 0;
  virtual std::vector<Ruling> End(TrialId trial, bool failed) = 0;
  virtual std::vector<Ruling> Closed() { return {}; }
  virtual std::optional<TrialGroup> Next() = 0;
  virtual bool Ready() const { return false; }
  // Whether trials that go to one target go there together: they are one group, however many Next
  // calls or admissions they come from.
  virtual bool Gathers() const { return false; }

  virtual void Save(StateWriter& writer) const = 0;
  virtual Status Load(StateReader& reader) = 0;
  virtual void AddTo(Digest& digest) const = 0;
};

struct StopperSpec {
  std::string name = "none";
  Work min_budget = 1;          // first rung, or nothing is stopped before
  Work max_budget = kNoLimit;   // full budget
  std::int64_t eta = 3;         // reduction factor
  double percentile = 50;       // trials among the best so many per cent go on; three decimals
  std::int64_t startup = 5;     // median, percentile: trials that must be complete first
  std::int64_t min_trials = 1;  // median, percentile: of them with a value to compare with
  bool last_counts =
      false;             // median, percentile: a trial is compared by its last value, not its best
  Work patience = 10;    // patience: work without improvement
  double min_delta = 0;  // patience: what is an improvement
  std::int64_t bracket = 0;  // sha: trials of a bracket; 0: as many as let one reach the end
  Work interval = 0;         // pbt: work between judgements; 0: see Perturbation::IntervalOf
  double quantile = 0.25;    // pbt: the part that loses, and the part that is forked from
  std::vector<std::string> mutate = {};  // pbt: what a fork may change; empty: see MayChange
  std::uint64_t seed = 0;  // pbt: of its draws; the study's, which whoever makes it fills in
};

// The stoppers there are: none, asha (stopping), asha-promotion (pause and resume), asha-pausing
// (HyperSched's, which looks back), median, percentile, patience, sha, hyperband, pbt, pbt-async.
const std::vector<std::string>& StopperNames();

// The options that a stopper takes besides the budget, as StopperSpec calls them, and those that any
// takes.
const std::vector<std::string>& StopperOptions(std::string_view name);
const std::vector<std::string>& AllStopperOptions();
// Whether a stopper of this name works only with a max_budget.
bool NeedsMaxBudget(std::string_view name);
// Whether its trials are a population, of which forks take the place of others: all go to the full
// budget.
bool IsPopulation(std::string_view name);
// Whether trials are compared with others that came to the same rung: by what is their result there.
// A population is compared by what its members are now, since forks go on from that.
bool ComparesAtRungs(std::string_view name);

// Fails on an unknown name (suggesting the nearest), on options out of their range (eta < 2,
// min_budget < 1, a percentile beyond 100, ...), and for a stopper that needs a max_budget without
// one or with min_budget > max_budget.
Result<std::unique_ptr<Stopper>> MakeStopper(const StopperSpec& spec);

}  // namespace sluice
