#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "search/rungs/ranking.h"
#include "search/stopper.h"

namespace sluice {

// Stops a trial that does worse than most complete trials did after the same work. The median is
// percentile 50.
//
// At a report of work w the trial's best value so far is compared with the values that complete
// trials reported at exactly w. The trial stops if its best is worse than their percentile (linear
// between neighbours; `percentile: 25` keeps trials as good as the best quarter). Optuna's pruners
// compare in the same way: the best up to w against values at w. With last_counts the value at w is
// compared instead of the best. The comparison is made once `startup` trials are complete, at least
// `min_trials` of them have a value at w, and w is at least min_budget. NaN values of complete
// trials are not compared with. A trial that has reported nothing but NaN is worse than any bar.
//
// A trial is complete when it reaches max_budget or has ended well. Trials that failed or were
// stopped do not count. If one of the percentile's two neighbours is infinite, the worse neighbour
// is the bar.
class Percentile final : public Stopper {
 public:
  explicit Percentile(const StopperSpec& spec);

  Work Admit(TrialId trial) override;
  // Returns no ruling if the trial was stopped or has ended.
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override;
  std::vector<Ruling> End(TrialId trial, bool failed) override;
  std::optional<TrialGroup> Next() override { return std::nullopt; }

  void Save(StateWriter& writer) const override;
  Status Load(StateReader& reader) override;
  void AddTo(Digest& digest) const override;

 private:
  // The reports of a trial that is not over, from min_budget on; kept until it ends.
  struct Record {
    double best;  // the best of all its values, or the last; NaN: none yet
    std::vector<std::pair<Work, double>> values;
  };

  bool IsWorse(double best, Work work) const;
  void Complete(TrialId trial);
  Status LoadRecords(StateReader& reader);
  Status LoadLevels(StateReader& reader);

  StopperSpec spec_;
  Quota quota_;  // of a level: the top ends at the percentile's lower neighbour
  TrialId last_{};
  std::int64_t completed_ = 0;
  std::map<TrialId, Record> records_;
  std::map<Work, Ranking> levels_;  // by work: the values of the complete trials
};

}  // namespace sluice
