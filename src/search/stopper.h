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

// Advances one trial to a target.
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
  kPause,  // save and release the devices; the trial may be resumed later
  kStop,   // end for good
  kFork,   // end for good; a new trial takes its place, and begins from another's checkpoint
};

// A stopper's decision about a trial.
struct Ruling {
  TrialId trial{};
  Verdict verdict = Verdict::kGoOn;
  Work target = kNoLimit;  // with kGoOn; with kFork the target of the new trial
  TrialId from{};          // with kFork: the donor; the new trial begins from its checkpoint
  friend bool operator==(const Ruling&, const Ruling&) = default;
};

// Judges trials by their reports. A pure state machine inside the engine: the same calls in the
// same order give the same rulings. Values of a metric that is maximised come negated, so that
// smaller is better. NaN (diverged, or no metric) is the worst. Ties go to the smaller trial id.
//
// The engine calls
//   Admit      once for each new trial, in order of ids. Returns its first target;
//   AdmitFork  for each kFork, right after the ruling and in the order of the rulings, with the
//              new trial that takes the loser's place. The new trial's first target was in the
//              ruling. It begins at the work of the donor's checkpoint, or at 0 if there is none;
//   Report     for each accepted report; work rises strictly within a trial. Returns rulings on
//              this and other trials. A trial that has reached its target always gets a ruling
//              here. If the ruling is a kGoOn, the new target is beyond the trial's work. There is
//              one exception: a trial that has reached the study's full budget is complete, and
//              gets no ruling;
//   End        once, when a trial has ended for good without a kStop (complete, failed). The trial
//              is never ruled upon again, but its end may settle the fate of other trials;
//   Closed     when no more trials will come; may be called again. Trials that waited for new
//              trials then wait no longer. If more trials come after all (because the study is
//              resumed), they are admitted as usual;
//   Next       when devices are free. Returns a group of paused trials worth resuming, or nothing;
//   Ready      after a report: whether to call Next although no launch has ended since;
//   MayResume  whether Next might return something now.
// A ruling on a trial other than the one that reported is a kStop or a kFork: only Next resumes
// paused trials. The donor of a kFork has not ended and is not the loser. The target of a
// kFork is beyond the work that the donor has reported.
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
  virtual bool MayResume() const { return Ready(); }
  // Whether trials with the same target belong together: they are one group, however many Next
  // calls or admissions they come from.
  virtual bool Gathers() const { return false; }

  virtual void Save(StateWriter& writer) const = 0;
  virtual Status Load(StateReader& reader) = 0;
  virtual void AddTo(Digest& digest) const = 0;
};

struct StopperSpec {
  std::string name = "none";
  // The first rung. Stoppers without rungs stop no trial before this work.
  Work min_budget = 1;
  Work max_budget = kNoLimit;  // full budget
  std::int64_t eta = 3;        // reduction factor
  double percentile = 50;      // per cent of trials that may go on; at most three decimals
  std::int64_t startup = 5;    // median, percentile: how many trials must be complete first
  // median, percentile: how many complete trials must have a value at the same work.
  std::int64_t min_trials = 1;
  // median, percentile: a trial is compared by its last value, not its best.
  bool last_counts = false;
  Work patience = 10;        // patience: work without improvement
  double min_delta = 0;      // patience: an improvement must be larger than this
  std::int64_t bracket = 0;  // sha: trials of a bracket; 0: eta^(number of rungs)
  Work interval = 0;         // pbt: work between judgements; 0: see Perturbation::IntervalOf
  double quantile = 0.25;    // pbt: the fraction that loses, and the fraction forked from
  // pbt: the parameters that a fork may change; empty: see MayChange.
  std::vector<std::string> mutate = {};
  std::uint64_t seed = 0;  // pbt: seed of its draws; the engine sets the study's seed
};

// All stoppers: none, asha (stopping), asha-promotion (pause and resume), asha-pausing
// (HyperSched's, which looks back), median, percentile, patience, sha, hyperband, pbt, pbt-async.
const std::vector<std::string>& StopperNames();

// The options that a stopper takes besides the budget, as StopperSpec calls them; and the options
// of all stoppers.
const std::vector<std::string>& StopperOptions(std::string_view name);
const std::vector<std::string>& AllStopperOptions();
// Whether this stopper works only with a max_budget.
bool NeedsMaxBudget(std::string_view name);
// Whether the trials of this stopper are a population, in which forks replace other trials and all
// go to the full budget.
bool IsPopulation(std::string_view name);
// Whether this stopper compares trials at rungs, each by its result there. The trials of a
// population are compared by their last reports instead, since forks go on from there.
bool ComparesAtRungs(std::string_view name);

// Fails on an unknown name (suggesting the nearest), on options out of their range (eta < 2,
// min_budget < 1, a percentile beyond 100, ...), and for a stopper that needs a max_budget if there
// is none or if it is below min_budget.
Result<std::unique_ptr<Stopper>> MakeStopper(const StopperSpec& spec);

}  // namespace sluice
