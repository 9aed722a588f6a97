#include "rig/stoppers/plain_stopper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/check.h"
#include "rig/stoppers/plain_halving.h"
#include "rig/stoppers/plain_pbt.h"

namespace sluice {
namespace {

bool ComesBefore(const PlainMark& a, const PlainMark& b) {
  if (std::isnan(a.value) || std::isnan(b.value)) {
    return std::isnan(a.value) == std::isnan(b.value) ? a.trial < b.trial : std::isnan(b.value);
  }
  return a.value < b.value || (a.value == b.value && a.trial < b.trial);
}

// The stopper `none`, and the base of those that stop trials at reports and never pause them.
class PlainNone : public PlainStopper {
 public:
  explicit PlainNone(const StopperSpec& spec) : spec_(spec) {}
  Work Admit(TrialId) override { return spec_.max_budget; }
  std::vector<Ruling> Report(TrialId trial, Work work, double value) override {
    if (over_.contains(trial)) return {};
    const bool stops = Stops(trial, work, value) && work < spec_.max_budget;
    if (!stops && work < spec_.max_budget) return {};
    over_.insert(trial);
    if (stops) return {{trial, Verdict::kStop}};
    Complete(trial);
    return {};
  }
  std::vector<Ruling> End(TrialId trial, bool failed) override {
    if (over_.insert(trial).second && !failed) Complete(trial);
    return {};
  }

 protected:
  virtual bool Stops(TrialId, Work, double) { return false; }
  virtual void Complete(TrialId) {}
  const StopperSpec spec_;

 private:
  std::set<TrialId> over_;
};

class PlainPatience final : public PlainNone {
 public:
  using PlainNone::PlainNone;

 private:
  struct Best {
    double value = std::numeric_limits<double>::quiet_NaN();
    Work work = 0;
  };
  bool Stops(TrialId trial, Work work, double value) override {
    Best& best = best_[trial];
    const bool first = std::isnan(best.value) && !std::isnan(value);
    if (!first && !(value + spec_.min_delta < best.value))
      return work >= spec_.min_budget && work - best.work >= spec_.patience;
    best = {value, work};
    return false;
  }
  std::map<TrialId, Best> best_;
};

class PlainPercentile final : public PlainNone {
 public:
  using PlainNone::PlainNone;

 private:
  bool Stops(TrialId trial, Work work, double value) override {
    reports_[trial].push_back({work, value});
    if (work < spec_.min_budget || complete_ < spec_.startup) return false;
    std::vector<double> others;
    if (const auto at = at_.find(work); at != at_.end()) others = at->second;
    if (others.empty() || static_cast<std::int64_t>(others.size()) < spec_.min_trials) return false;
    double best = std::numeric_limits<double>::quiet_NaN();
    for (const auto& [when, own] : reports_[trial]) best = std::fmin(best, own);
    if (spec_.last_counts) best = value;
    return std::isnan(best) || IsBeyond(best, others);
  }
  void Complete(TrialId trial) override {
    ++complete_;
    for (const auto& [work, value] : reports_[trial]) {
      if (!std::isnan(value)) at_[work].push_back(value);
    }
  }
  // Whether a value lies beyond the percentile, which is interpolated between two neighbours.
  bool IsBeyond(double value, std::vector<double>& values) const {
    std::ranges::sort(values);
    constexpr std::size_t kWhole = 100'000;
    const double percentile = spec_.name == "median" ? 50 : spec_.percentile;
    const auto place =
        (values.size() - 1) * static_cast<std::size_t>(std::llround(percentile * 1000));
    const double low = values[place / kWhole];
    const auto part = static_cast<double>(place % kWhole);
    if (part == 0) return value > low;
    const double high = values[place / kWhole + 1];
    if (std::isinf(low) || std::isinf(high) || std::isinf(value)) return value > high;
    return value > low + (high - low) * (part / kWhole);
  }

  std::map<TrialId, std::vector<std::pair<Work, double>>> reports_;
  std::map<Work, std::vector<double>> at_;  // values that complete trials reported
  std::int64_t complete_ = 0;
};

// ASHA, and the part that asha-promotion shares with it: the value of each trial at each level.
class PlainAsha : public PlainStopper {
 public:
  explicit PlainAsha(const StopperSpec& spec)
      : spec_(spec), levels_(HalvingLevels(spec)), marks_(levels_.size()) {}

  Work Admit(TrialId) override { return TargetAfter(0); }

  std::vector<Ruling> Report(TrialId trial, Work work, double value) override {
    if (over_.contains(trial)) return {};
    std::vector<std::size_t> reached;
    for (std::size_t k = 0; k < levels_.size(); ++k) {
      if (work_[trial] >= levels_[k] || work < levels_[k]) continue;
      reached.push_back(k);
      marks_[k].push_back({value, trial});
    }
    work_[trial] = work;
    return Rule({value, trial}, work, reached);
  }

  std::vector<Ruling> End(TrialId trial, bool) override {
    over_.insert(trial);
    return {};
  }

 protected:
  virtual std::vector<Ruling> Rule(PlainMark mark, Work work,
                                   const std::vector<std::size_t>& reached) {
    if (reached.empty() || work >= spec_.max_budget) return {};
    bool goes_on = !std::isnan(mark.value);
    for (const std::size_t k : reached) {
      const std::size_t places = std::max<std::size_t>(1, Part(k));
      goes_on = goes_on && RankOf(marks_[k], mark) < places;
    }
    if (goes_on) return {{mark.trial, Verdict::kGoOn, TargetAfter(work)}};
    over_.insert(mark.trial);
    return {{mark.trial, Verdict::kStop}};
  }

  Work TargetAfter(Work work) const {
    const auto next = std::ranges::find_if(levels_, [&](Work level) { return level > work; });
    return next == levels_.end() ? spec_.max_budget : *next;
  }
  std::size_t Part(std::size_t k) const {
    return marks_[k].size() / static_cast<std::size_t>(spec_.eta);
  }

  const StopperSpec spec_;
  const std::vector<Work> levels_;
  std::vector<std::vector<PlainMark>> marks_;  // by level
  std::map<TrialId, Work> work_;
  std::set<TrialId> over_;
};

class PlainPromotion final : public PlainAsha {
 public:
  using PlainAsha::PlainAsha;

  std::optional<TrialGroup> Next() override {
    for (std::size_t k = levels_.size(); k-- > 0;) {
      std::vector<PlainMark> best = marks_[k];
      SortMarks(best);
      best.resize(Part(k));
      for (const PlainMark& mark : best) {
        if (std::isnan(mark.value) || !Waits(k, mark.trial)) continue;
        paused_.erase(mark.trial);
        return TrialGroup{{{mark.trial, TargetAfter(levels_[k])}}};
      }
    }
    return std::nullopt;
  }

 private:
  // Whether the trial is paused at this level, and at none above it.
  bool Waits(std::size_t k, TrialId trial) const {
    const auto at = paused_.find(trial);
    return at != paused_.end() && at->second == k && !over_.contains(trial);
  }

  std::vector<Ruling> Rule(PlainMark mark, Work work,
                           const std::vector<std::size_t>& reached) override {
    if (work >= spec_.max_budget) {
      paused_.erase(mark.trial);
      return {};
    }
    if (reached.empty()) {
      if (!paused_.contains(mark.trial)) return {};
      return {{mark.trial, Verdict::kPause}};
    }
    paused_.erase(mark.trial);
    if (std::isnan(mark.value)) {
      over_.insert(mark.trial);
      return {{mark.trial, Verdict::kStop}};
    }
    const std::size_t highest = reached.back();
    if (RankOf(marks_[highest], mark) < Part(highest))
      return {{mark.trial, Verdict::kGoOn, TargetAfter(work)}};
    paused_[mark.trial] = highest;
    return {{mark.trial, Verdict::kPause}};
  }

  std::map<TrialId, std::size_t> paused_;  // at which level
};

// HyperSched's stopper (asha-pausing). A trial is worse at a level if its value there is beyond the
// quantile 1/eta of the values recorded at that level.
class PlainPausing final : public PlainStopper {
 public:
  explicit PlainPausing(const StopperSpec& spec) : spec_(spec), levels_(HalvingLevels(spec)) {}

  Work Admit(TrialId trial) override {
    states_[trial] = State::kGoing;
    return spec_.max_budget;
  }

  std::vector<Ruling> Report(TrialId trial, Work work, double value) override {
    State& state = states_[trial];
    if (state == State::kOver) return {};
    bool worse = WorseSomewhere(trial);
    bool arrives = false;
    std::vector<double>& own = marks_[trial];
    while (own.size() < levels_.size() && levels_[own.size()] <= work) {
      worse = worse || Worse(own.size(), value);
      own.push_back(value);
      arrives = true;
    }
    const State before = std::exchange(state, State::kGoing);
    if (work >= spec_.max_budget) return {};
    if (arrives && std::isnan(value)) {
      state = State::kOver;
      return {{trial, Verdict::kStop}};
    }
    if (worse) {
      state = State::kPaused;
      return {{trial, Verdict::kPause}};
    }
    if (before == State::kGoing) return {};
    return {{trial, Verdict::kGoOn, spec_.max_budget}};
  }

  std::vector<Ruling> End(TrialId trial, bool) override {
    states_[trial] = State::kOver;
    return {};
  }

  std::optional<TrialGroup> Next() override {
    for (std::size_t passed = levels_.size(); passed > 0; --passed) {
      std::vector<PlainMark> ready;
      for (const auto& [trial, state] : states_) {
        if (state != State::kPaused || marks_[trial].size() != passed) continue;
        if (!WorseSomewhere(trial)) ready.push_back({marks_[trial].back(), trial});
      }
      if (ready.empty()) continue;
      SortMarks(ready);
      states_[ready.front().trial] = State::kGoing;
      return TrialGroup{{{ready.front().trial, spec_.max_budget}}};
    }
    return std::nullopt;
  }

 private:
  enum class State { kGoing, kPaused, kOver };

  bool WorseSomewhere(TrialId trial) {
    const std::vector<double>& own = marks_[trial];
    for (std::size_t level = 0; level < own.size(); ++level) {
      if (Worse(level, own[level])) return true;
    }
    return false;
  }

  bool Worse(std::size_t level, double value) const {
    if (std::isnan(value)) return true;
    std::vector<double> there;
    for (const auto& [trial, values] : marks_) {
      if (values.size() <= level) continue;
      const bool none = std::isnan(values[level]);
      there.push_back(none ? std::numeric_limits<double>::infinity() : values[level]);
    }
    if (there.size() < 2) return false;
    std::ranges::sort(there);
    const std::size_t behind = there.size() - 1;
    const auto eta = static_cast<std::size_t>(spec_.eta);
    const double low = there[behind / eta];
    if (behind % eta == 0) return value > low;
    const double high = there[behind / eta + 1];
    if (std::isinf(low) || std::isinf(high)) return value > high;
    const double part = static_cast<double>(behind % eta) / static_cast<double>(eta);
    return value > low + (high - low) * part;
  }

  const StopperSpec spec_;
  const std::vector<Work> levels_;
  std::map<TrialId, State> states_;
  std::map<TrialId, std::vector<double>> marks_;
};

}  // namespace

void PlainStopper::AdmitFork(TrialId, TrialId) { SLUICE_CHECK(false, "only PBT forks"); }

void SortMarks(std::vector<PlainMark>& marks) { std::ranges::sort(marks, ComesBefore); }

std::size_t RankOf(const std::vector<PlainMark>& marks, const PlainMark& mark) {
  return static_cast<std::size_t>(
      std::ranges::count_if(marks, [&](const PlainMark& m) { return ComesBefore(m, mark); }));
}

std::vector<Work> HalvingLevels(const StopperSpec& spec) {
  std::vector<Work> levels;
  for (Work level = spec.min_budget; level < spec.max_budget; level *= spec.eta) {
    levels.push_back(level);
    if (level > spec.max_budget / spec.eta) break;
  }
  return levels;
}

std::unique_ptr<PlainStopper> MakePlainStopper(const StopperSpec& spec) {
  if (spec.name == "asha") return std::make_unique<PlainAsha>(spec);
  if (spec.name == "asha-promotion") return std::make_unique<PlainPromotion>(spec);
  if (spec.name == "asha-pausing") return std::make_unique<PlainPausing>(spec);
  if (spec.name == "sha" || spec.name == "hyperband") return std::make_unique<PlainHalving>(spec);
  if (spec.name == "pbt") return std::make_unique<PlainPbt>(spec);
  if (spec.name == "pbt-async") return std::make_unique<PlainPbtAsync>(spec);
  if (spec.name == "median" || spec.name == "percentile")
    return std::make_unique<PlainPercentile>(spec);
  if (spec.name == "patience") return std::make_unique<PlainPatience>(spec);
  SLUICE_CHECK(spec.name == "none", "every stopper has a plain one");
  return std::make_unique<PlainNone>(spec);
}

}  // namespace sluice
