// Compares synchronous halving with the rule it must agree with, over many random histories.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/state.h"
#include "base/test_numbers.h"
#include "search/samplers/test_history.h"
#include "search/stoppers/halving.h"

namespace sluice {
namespace {

// Finds which trials win and lose if every level waits for all its trials. It sorts the values, and
// uses nothing else.
struct HalvingOracle {
  std::int64_t eta;
  std::vector<Work> levels;
  std::size_t capacity;
  std::vector<TrialId> members;
  std::map<TrialId, std::vector<double>> values;  // by level, up to the last level it passed

  // From how many levels each trial goes on.
  std::map<TrialId, std::size_t> Passed() const {
    std::map<TrialId, std::size_t> passed;
    for (const TrialId trial : members) passed[trial] = 0;
    std::vector<TrialId> entrants = members;
    std::size_t places = members.size();
    for (std::size_t level = 0; level < levels.size(); ++level) {
      places /= static_cast<std::size_t>(eta);
      std::vector<std::pair<double, TrialId>> ranked;
      for (const TrialId trial : entrants) {
        const std::vector<double>& own = values.at(trial);
        if (own.size() > level && !std::isnan(own[level])) ranked.emplace_back(own[level], trial);
      }
      std::ranges::sort(ranked);
      ranked.resize(std::min(ranked.size(), std::max<std::size_t>(1, places)));
      entrants.clear();
      for (const auto& [value, trial] : ranked) {
        entrants.push_back(trial);
        ++passed[trial];
      }
    }
    return passed;
  }
};

enum class HalvingState { kRunning, kPaused, kStopped, kEnded };

// Plays the part of the engine, with events in any order, and records what each trial reported.
class HalvingPlay {
 public:
  HalvingPlay(const StopperSpec& spec, std::uint64_t seed)
      : spec_(spec), random_(Random(seed).Fork("halving")), halving_(spec) {}

  bool Admit() {
    states_.push_back(HalvingState::kRunning);
    work_.push_back(0);
    const auto trial = static_cast<TrialId>(states_.size());
    if (brackets_.empty() || closed_ ||
        brackets_.back().members.size() == brackets_.back().capacity) {
      const std::vector<BracketPlan> plans = PlanBrackets(spec_);
      const BracketPlan& plan = plans[brackets_.size() % plans.size()];
      brackets_.push_back({spec_.eta, plan.levels, static_cast<std::size_t>(plan.trials), {}, {}});
      closed_ = false;
    }
    brackets_.back().members.push_back(trial);
    brackets_.back().values[trial] = {};
    targets_.push_back(halving_.Admit(trial));
    return targets_.back() ==
           (brackets_.back().levels.empty() ? spec_.max_budget : brackets_.back().levels[0]);
  }

  void Close() {
    if (!brackets_.empty() && brackets_.back().members.size() < brackets_.back().capacity)
      closed_ = true;
    Follow(halving_.Closed());
  }

  // Something happens to a running trial.
  void Advance(bool wild) {
    std::vector<std::size_t> running;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i] == HalvingState::kRunning) running.push_back(i);
    }
    if (running.empty()) return;
    const std::size_t index = running[random_.Below(running.size())];
    const auto trial = static_cast<TrialId>(index + 1);
    if (random_.Chance(0.08)) {
      states_[index] = HalvingState::kEnded;
      return Follow(halving_.End(trial, random_.Chance(0.8)));
    }
    work_[index] = wild ? AnyNextWork(random_, work_[index], targets_[index]) : targets_[index];
    const double value =
        random_.Chance(0.1) ? kNan : static_cast<double>(random_.Below(wild ? 6 : 1000));
    HalvingOracle& bracket = BracketOf(trial);
    std::vector<double>& values = bracket.values[trial];
    while (values.size() < bracket.levels.size() && bracket.levels[values.size()] <= work_[index]) {
      values.push_back(value);
    }
    const bool complete = work_[index] >= spec_.max_budget;
    if (complete) states_[index] = HalvingState::kEnded;
    Follow(halving_.Report(trial, work_[index], value));
    if (complete) Follow(halving_.End(trial, /*failed=*/false));
  }

  void Resume() {
    while (const auto group = halving_.Next()) {
      for (const auto& member : group->members) {
        ASSERT_EQ(StateOf(member.trial), HalvingState::kPaused);
        StateOf(member.trial) = HalvingState::kRunning;
        targets_[Number(member.trial) - 1] = member.target;
        ASSERT_GT(member.target, work_[Number(member.trial) - 1]);
      }
    }
  }

  void Restart() {
    StateWriter writer;
    halving_.Save(writer);
    Halving loaded(spec_);
    StateReader reader(writer.bytes());
    ASSERT_TRUE(loaded.Load(reader));
    halving_ = std::move(loaded);
  }

  std::size_t admitted() const { return states_.size(); }
  bool running() const {
    return std::ranges::find(states_, HalvingState::kRunning) != states_.end();
  }
  HalvingState& StateOf(TrialId trial) { return states_[Number(trial) - 1]; }
  Work TargetOf(TrialId trial) const { return targets_[Number(trial) - 1]; }
  const std::vector<HalvingOracle>& brackets() const { return brackets_; }
  const std::vector<HalvingState>& states() const { return states_; }

 private:
  HalvingOracle& BracketOf(TrialId trial) {
    for (HalvingOracle& bracket : brackets_) {
      if (bracket.values.contains(trial)) return bracket;
    }
    return brackets_.front();
  }

  void Follow(const std::vector<Ruling>& rulings) {
    for (const Ruling& ruling : rulings) {
      HalvingState& state = StateOf(ruling.trial);
      ASSERT_NE(state, HalvingState::kEnded);
      ASSERT_NE(state, HalvingState::kStopped);
      switch (ruling.verdict) {
        case Verdict::kGoOn:
          state = HalvingState::kRunning;
          targets_[Number(ruling.trial) - 1] = ruling.target;
          break;
        case Verdict::kPause: state = HalvingState::kPaused; break;
        case Verdict::kStop: state = HalvingState::kStopped; break;
        case Verdict::kFork: FAIL() << "halving forks no trial";
      }
    }
  }

  StopperSpec spec_;
  Random random_;
  Halving halving_;
  std::vector<HalvingOracle> brackets_;
  bool closed_ = false;
  std::vector<HalvingState> states_;
  std::vector<Work> work_;
  std::vector<Work> targets_;
};

TEST(HalvingOracleTest, TheOutcomeIsThatOfWaitingForEveryone) {
  int stopped = 0;
  int won = 0;
  int brackets = 0;
  for (std::uint64_t seed = 0; seed < 3000 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random = Random(seed).Fork("play");
    const StopperSpec spec = AnySpec(random, seed % 3 == 0 ? "hyperband" : "sha");
    const bool wild = random.Chance(0.5);
    HalvingPlay play(spec, seed);
    const std::size_t total = 1 + random.Below(40);
    while (play.admitted() < total || play.running()) {
      if (play.admitted() < total && random.Chance(0.3)) {
        ASSERT_TRUE(play.Admit());
      }
      if (play.admitted() == total || random.Chance(0.01)) play.Close();
      if (random.Chance(0.02)) play.Restart();
      play.Advance(wild);
      if (random.Chance(0.3) || !play.running()) play.Resume();
    }
    for (const HalvingOracle& bracket : play.brackets()) {
      ++brackets;
      for (const auto& [trial, passed] : bracket.Passed()) {
        const HalvingState state = play.StateOf(trial);
        const bool wins = passed == bracket.levels.size();
        const Work target = wins ? spec.max_budget : bracket.levels[passed];
        ASSERT_NE(state, HalvingState::kPaused) << "a trial waits for ever";
        ASSERT_TRUE(state == HalvingState::kEnded || !wins) << Number(trial);
        // A trial that reported past its target is judged at the levels it passed without having
        // them as targets.
        if (wild) {
          ASSERT_LE(play.TargetOf(trial), target) << Number(trial);
        } else {
          ASSERT_EQ(play.TargetOf(trial), target) << Number(trial);
        }
        (wins ? won : stopped) += 1;
      }
    }
  }
  EXPECT_GT(stopped, 10'000);
  EXPECT_GT(won, 3000);
  EXPECT_GT(brackets, 5000);
}

// What may become of each trial at each level, over all values that the other trials may still
// report.
class Futures {
 public:
  Futures(const HalvingOracle& now, const std::set<TrialId>& over) : now_(now), over_(over) {
    std::vector<TrialId> entrants = now.members;
    while (entrants.size() < now.capacity)
      entrants.push_back(static_cast<TrialId>(entrants.size() + 1));
    Enter(0, entrants);
  }
  bool MayGoOn(std::size_t level, TrialId trial) const { return go_on_.contains({level, trial}); }
  bool MayLose(std::size_t level, TrialId trial) const { return lose_.contains({level, trial}); }

 private:
  void Enter(std::size_t level, const std::vector<TrialId>& entrants) {
    if (level == now_.levels.size()) return;
    std::vector<std::pair<double, TrialId>> marks;
    std::vector<TrialId> open;
    for (const TrialId trial : entrants) {
      const auto own = now_.values.find(trial);
      if (own != now_.values.end() && own->second.size() > level) {
        if (!std::isnan(own->second[level]))
          marks.emplace_back(own->second[level], trial);
        else
          lose_.insert({level, trial});
      } else if (over_.contains(trial)) {
        lose_.insert({level, trial});
      } else {
        open.push_back(trial);
      }
    }
    Choose(level, marks, open);
  }

  void Choose(std::size_t level, std::vector<std::pair<double, TrialId>> marks,
              std::vector<TrialId> open) {
    if (!open.empty()) {
      const TrialId trial = open.back();
      open.pop_back();
      Choose(level, marks, open);  // NaN
      lose_.insert({level, trial});
      for (const double value : {-1.0, 500.5, 2000.0}) {
        marks.emplace_back(value, trial);
        Choose(level, marks, open);
        marks.pop_back();
      }
      return;
    }
    std::size_t places = now_.capacity;
    for (std::size_t k = 0; k <= level; ++k) places /= static_cast<std::size_t>(now_.eta);
    places = std::max<std::size_t>(1, places);
    std::ranges::sort(marks);
    std::vector<TrialId> promoted;
    for (std::size_t rank = 0; rank < marks.size(); ++rank) {
      (rank < places ? go_on_ : lose_).insert({level, marks[rank].second});
      if (rank < places) promoted.push_back(marks[rank].second);
    }
    if (seen_.insert({level, promoted}).second) Enter(level + 1, promoted);
  }

  const HalvingOracle& now_;
  const std::set<TrialId>& over_;
  std::set<std::pair<std::size_t, TrialId>> go_on_;
  std::set<std::pair<std::size_t, TrialId>> lose_;
  std::set<std::pair<std::size_t, std::vector<TrialId>>> seen_;
};

TEST(HalvingOracleTest, EveryFateIsDecidedAtTheFirstMomentItIsCertain) {
  int early = 0;
  int waiting = 0;
  for (std::uint64_t seed = 0; seed < 400 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random = Random(seed).Fork("early");
    const StopperSpec spec = {.name = "sha",
                              .max_budget = random.Chance(0.5) ? 4 : 8,
                              .eta = 2,
                              .bracket = static_cast<std::int64_t>(2 + random.Below(6))};
    HalvingPlay play(spec, seed);
    const auto total = static_cast<std::size_t>(spec.bracket);
    while (play.admitted() < total || play.running()) {
      if (play.admitted() < total && (random.Chance(0.4) || !play.running())) {
        ASSERT_TRUE(play.Admit());
      }
      play.Advance(/*wild=*/false);
      play.Resume();
      const HalvingOracle& bracket = play.brackets().front();
      std::set<TrialId> over;
      for (std::size_t i = 0; i < play.states().size(); ++i) {
        if (play.states()[i] == HalvingState::kEnded) over.insert(static_cast<TrialId>(i + 1));
      }
      const Futures futures(bracket, over);
      for (const TrialId trial : bracket.members) {
        if (over.contains(trial) || bracket.values.at(trial).empty()) continue;
        const std::size_t level = bracket.values.at(trial).size() - 1;  // the last level it passed
        const bool may_go_on = futures.MayGoOn(level, trial);
        const bool may_lose = futures.MayLose(level, trial);
        const HalvingState state = play.StateOf(trial);
        ASSERT_EQ(state == HalvingState::kPaused, may_go_on && may_lose) << Number(trial);
        ASSERT_EQ(state == HalvingState::kStopped, !may_go_on) << Number(trial);
        if (state == HalvingState::kRunning) {
          ASSERT_GT(play.TargetOf(trial), bracket.levels[level]);
        }
        (state == HalvingState::kPaused ? waiting : early) += 1;
      }
    }
  }
  EXPECT_GT(early, 1000);
  EXPECT_GT(waiting, 1000);
}

}  // namespace
}  // namespace sluice
