#pragma once

// For tests: what a hostile world reports.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "search/stopper.h"

namespace sluice {

// Few different numbers, so that there are ties, and everything a diverging program can print.
inline double AnyLoss(Random& random) {
  switch (random.Below(12)) {
    case 0: return std::numeric_limits<double>::quiet_NaN();
    case 1: return std::numeric_limits<double>::infinity();
    case 2: return random.Chance(0.1) ? -std::numeric_limits<double>::infinity() : -0.0;
    case 3: return random.Normal();
    default: return static_cast<double>(random.Below(10));
  }
}

// Where a trial at `work` may report next: often at its target, often one further, sometimes past
// several rungs.
inline Work AnyNextWork(Random& random, Work work, Work target) {
  if (target > work && random.Chance(0.4)) return target;
  if (random.Chance(0.6)) return work + 1;
  const auto far = static_cast<Work>(random.Below(10)) + 1;
  return random.Chance(0.3) ? work * far + 1 : work + far;
}

inline StopperSpec AnySpec(Random& random, std::string name) {
  StopperSpec spec = {.name = std::move(name)};
  spec.min_budget = static_cast<Work>(1 + random.Below(3));
  spec.max_budget =
      spec.min_budget + static_cast<Work>(random.Below(random.Chance(0.5) ? 10 : 100));
  spec.eta = static_cast<std::int64_t>(2 + random.Below(3));
  spec.percentile = static_cast<double>(random.Below(401)) / 4;
  spec.startup = static_cast<std::int64_t>(random.Below(4));
  spec.min_trials = static_cast<std::int64_t>(1 + random.Below(3));
  spec.patience = static_cast<Work>(1 + random.Below(8));
  spec.min_delta = random.Chance(0.5) ? 0 : 1;
  spec.bracket = static_cast<std::int64_t>(random.Chance(0.5) ? 0 : 1 + random.Below(20));
  if (spec.max_budget > 1 && random.Chance(0.7)) {
    const auto longest = static_cast<std::uint64_t>(std::min<Work>(spec.max_budget - 1, 20));
    spec.interval = static_cast<Work>(1 + random.Below(longest));
  }
  spec.quantile = static_cast<double>(1 + random.Below(500)) / 1000;
  spec.seed = random.Next();
  return spec;
}

struct RecordedReport {
  TrialId trial{};
  Work work = 0;
  double value = 0;
};

// The slow, obvious side of a comparison: everything from the whole history, by sorting.
class ReportHistory {
 public:
  explicit ReportHistory(const StopperSpec& spec) : spec_(spec) {
    for (Work level = spec.min_budget; level < spec.max_budget; level *= spec.eta) {
      levels_.push_back(level);
    }
  }

  const StopperSpec& spec() const { return spec_; }
  const std::vector<Work>& levels() const { return levels_; }
  Work TargetAfter(Work work) const {
    for (const Work level : levels_) {
      if (level > work) return level;
    }
    return spec_.max_budget;
  }

  // The rungs that this report reaches and no earlier one of its trial did.
  std::vector<std::size_t> Add(const RecordedReport& report) {
    Work before = 0;
    for (const RecordedReport& other : reports_) {
      if (other.trial == report.trial) before = std::max(before, other.work);
    }
    reports_.push_back(report);
    std::vector<std::size_t> reached;
    for (std::size_t k = 0; k < levels_.size(); ++k) {
      if (before < levels_[k] && levels_[k] <= report.work) reached.push_back(k);
    }
    return reached;
  }

  // The first report of every trial at or past rung k, best first.
  std::vector<RecordedReport> Ranked(std::size_t k) const {
    std::map<TrialId, RecordedReport> first;
    for (const RecordedReport& report : reports_) {
      if (report.work >= levels_[k]) first.try_emplace(report.trial, report);
    }
    std::vector<RecordedReport> ranked;
    for (const auto& [trial, report] : first)
      ranked.push_back(report);  // by id, and the sort is stable
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
      return std::isnan(b.value) ? !std::isnan(a.value) : a.value < b.value;
    });
    return ranked;
  }

 private:
  StopperSpec spec_;
  std::vector<Work> levels_;
  std::vector<RecordedReport> reports_;
};

}  // namespace sluice
