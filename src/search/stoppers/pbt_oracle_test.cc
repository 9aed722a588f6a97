// Compares synchronous PBT with the plain rule: wait until every trial has a value, sort, replace
// the worst.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "base/state.h"
#include "base/test_numbers.h"
#include "search/samplers/test_history.h"
#include "search/stoppers/pbt.h"

namespace sluice {
namespace {

bool IsBetter(std::pair<double, TrialId> a, std::pair<double, TrialId> b) {
  if (std::isnan(a.first) != std::isnan(b.first)) return std::isnan(b.first);
  if (!std::isnan(a.first) && a.first != b.first) return a.first < b.first;
  return a.second < b.second;
}

struct ForkSeen {
  TrialId loser{};
  TrialId donor{};
  Work target = 0;
  friend auto operator<=>(const ForkSeen&, const ForkSeen&) = default;
};

// One population, judged from all reports, without regard to which trials may go on early.
struct PbtOracle {
  struct Place {
    TrialId trial{};
    bool alive = true;
    bool judged_out = false;  // it ended, and then ranked among the losers
    Work work = 0;
    std::map<std::size_t, double> values;  // by stage
  };

  StopperSpec spec;
  std::vector<Work> stages;
  bool closed = false;
  std::size_t next = 0;  // stage to decide
  std::vector<Place> places;
  std::vector<std::set<TrialId>> middle;  // by decided stage: in neither quantile

  Place& At(TrialId trial) { return *std::ranges::find(places, trial, &Place::trial); }

  void Record(TrialId trial, Work work, double value) {
    Place& place = At(trial);
    place.work = work;
    for (std::size_t s = next; s < stages.size(); ++s) {
      if (stages[s] <= work) place.values.emplace(s, value);
    }
  }

  std::size_t QuantileOf(std::size_t n) const {
    const double exact = std::round(spec.quantile * 1000) * static_cast<double>(n) / 1000;
    return std::min(static_cast<std::size_t>(std::ceil(exact - 1e-9)), n / 2);
  }

  // Returns the forks of all stages that can be decided now and could not be decided before.
  std::vector<ForkSeen> Decide() {
    std::vector<ForkSeen> forks;
    while (closed && next < stages.size() && forks.empty()) {
      std::vector<std::pair<double, TrialId>> ranked;
      for (const Place& place : places) {
        const auto value = place.values.find(next);
        if (place.judged_out) continue;
        if (value == place.values.end() && place.alive) return forks;
        if (value != place.values.end()) ranked.emplace_back(value->second, place.trial);
      }
      std::ranges::sort(ranked, IsBetter);
      const std::size_t part = QuantileOf(ranked.size());
      std::vector<TrialId> donors;
      middle.emplace_back();
      for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
        const bool can = At(ranked[rank].second).alive && !std::isnan(ranked[rank].first);
        if (rank < part && can) donors.push_back(ranked[rank].second);
        if (rank >= part && rank < ranked.size() - part) middle.back().insert(ranked[rank].second);
      }
      for (std::size_t rank = ranked.size() - part; rank < ranked.size(); ++rank) {
        const TrialId loser = ranked[rank].second;
        if (!At(loser).alive) {
          At(loser).judged_out = true;
        } else if (!donors.empty()) {
          Random draw = Random(spec.seed)
                            .Fork("pbt")
                            .Fork(Number(loser))
                            .Fork(static_cast<std::uint64_t>(stages[next]));
          const TrialId donor = donors[draw.Below(donors.size())];
          Work target = spec.max_budget;
          for (std::size_t s = stages.size(); s-- > next + 1;) {
            if (stages[s] > At(donor).work) target = stages[s];
          }
          forks.push_back({loser, donor, target});
        }
      }
      ++next;
    }
    std::ranges::sort(forks);
    return forks;
  }

  void Replace(TrialId loser, TrialId fork) { At(loser) = {.trial = fork, .values = {}}; }
};

enum class PbtState { kRunning, kPaused, kOver };

// Plays the part of the engine, with events in any order, and asks the oracle after each event.
class PbtPlay {
 public:
  PbtPlay(const StopperSpec& spec, std::uint64_t seed)
      : spec_(spec), random_(Random(seed).Fork("pbt-play")), pbt_(spec) {}

  void Admit() {
    if (oracles_.empty() || oracles_.back().closed) {
      oracles_.push_back({.spec = spec_, .stages = Stages(), .places = {}, .middle = {}});
    }
    const TrialId trial = Add();
    oracles_.back().places.push_back({.trial = trial, .values = {}});
    const std::vector<Work> stages = Stages();
    targets_[trial] = pbt_.Admit(trial);
    ASSERT_EQ(targets_[trial], stages.empty() ? spec_.max_budget : stages.front());
  }

  void Close() {
    if (!oracles_.empty()) oracles_.back().closed = true;
    Follow(pbt_.Closed());
  }

  void Advance(bool wild) {
    std::vector<TrialId> running;
    for (const auto& [trial, state] : states_) {
      const bool may_report = state == PbtState::kRunning || (wild && state == PbtState::kPaused);
      if (may_report) running.push_back(trial);
    }
    if (running.empty()) return;
    const TrialId trial = running[random_.Below(running.size())];
    if (random_.Chance(0.03)) return End(trial);
    const bool on = wild && random_.Chance(0.3);
    const Work work = on ? AnyNextWork(random_, work_[trial], targets_[trial])
                         : std::max(work_[trial] + 1, targets_[trial]);
    work_[trial] = work;
    const double value =
        random_.Chance(0.1) ? kNan : static_cast<double>(random_.Below(wild ? 6 : 1000));
    OracleOf(trial).Record(trial, work, value);
    const bool complete = work >= spec_.max_budget;
    if (complete) {
      states_[trial] = PbtState::kOver;
      OracleOf(trial).At(trial).alive = false;
    }
    const std::vector<Ruling> rulings = pbt_.Report(trial, work, value);
    if (!complete && work >= targets_[trial]) {
      ASSERT_TRUE(std::ranges::find(rulings, trial, &Ruling::trial) != rulings.end());
    }
    Follow(rulings);
    if (complete) Follow(pbt_.End(trial, /*failed=*/false));
  }

  void End(TrialId trial) {
    states_[trial] = PbtState::kOver;
    OracleOf(trial).At(trial).alive = false;
    Follow(pbt_.End(trial, /*failed=*/true));
  }

  void Resume() {
    while (const auto group = pbt_.Next()) {
      for (const auto& member : group->members) {
        ASSERT_EQ(states_.at(member.trial), PbtState::kPaused);
        GoesOn(member.trial, member.target);
      }
    }
  }

  void Restart() {
    StateWriter writer;
    pbt_.Save(writer);
    Pbt loaded(spec_);
    StateReader reader(writer.bytes());
    ASSERT_TRUE(loaded.Load(reader));
    pbt_ = std::move(loaded);
  }

  std::size_t admitted() const { return states_.size() - forks_; }
  std::size_t forks() const { return forks_; }
  std::size_t early() const { return early_; }
  bool running() const {
    return std::ranges::any_of(states_,
                               [](const auto& each) { return each.second == PbtState::kRunning; });
  }
  bool waiting() const {
    return std::ranges::any_of(states_,
                               [](const auto& each) { return each.second == PbtState::kPaused; });
  }
  std::deque<PbtOracle>& oracles() { return oracles_; }
  PbtState StateOf(TrialId trial) const { return states_.at(trial); }

  // Checks that each trial that went on before its stage was decided was in the middle.
  void CheckEarly() {
    for (const auto& [trial, stage, population] : went_early_) {
      const PbtOracle& oracle = oracles_[population];
      if (stage >= oracle.middle.size()) continue;
      ASSERT_TRUE(oracle.middle[stage].contains(trial)) << Number(trial);
    }
  }

 private:
  std::vector<Work> Stages() const {
    std::vector<Work> stages;
    const Work interval = Perturbation::IntervalOf(spec_);
    for (Work at = interval; at < spec_.max_budget; at += interval) {
      if (at >= spec_.min_budget) stages.push_back(at);
    }
    return stages;
  }

  TrialId Add() {
    const auto trial = static_cast<TrialId>(states_.size() + 1);
    states_[trial] = PbtState::kRunning;
    work_[trial] = 0;
    return trial;
  }

  PbtOracle& OracleOf(TrialId trial) { return oracles_[PopulationOf(trial)]; }

  std::size_t PopulationOf(TrialId trial) {
    for (std::size_t i = 0; i < oracles_.size(); ++i) {
      const auto& places = oracles_[i].places;
      if (std::ranges::find(places, trial, &PbtOracle::Place::trial) != places.end()) return i;
    }
    ADD_FAILURE() << "trial " << Number(trial) << " has no place";
    return 0;
  }

  void GoesOn(TrialId trial, Work target) {
    ASSERT_GT(target, work_[trial]);
    ASSERT_LE(target, spec_.max_budget);
    states_[trial] = PbtState::kRunning;
    targets_[trial] = target;
    const PbtOracle& oracle = OracleOf(trial);
    for (std::size_t s = oracle.next; s < oracle.stages.size(); ++s) {
      if (oracle.stages[s] >= target) break;
      went_early_.push_back({trial, s, PopulationOf(trial)});
      ++early_;
    }
  }

  void Follow(const std::vector<Ruling>& rulings) {
    std::vector<ForkSeen> expected;
    for (PbtOracle& oracle : oracles_) {
      for (const ForkSeen& fork : oracle.Decide()) expected.push_back(fork);
    }
    std::vector<ForkSeen> seen;
    for (const Ruling& ruling : rulings) {
      ASSERT_NE(states_.at(ruling.trial), PbtState::kOver);
      switch (ruling.verdict) {
        case Verdict::kGoOn: GoesOn(ruling.trial, ruling.target); break;
        case Verdict::kPause: states_[ruling.trial] = PbtState::kPaused; break;
        case Verdict::kStop: FAIL() << "no trial is stopped without a fork"; break;
        case Verdict::kFork:
          states_[ruling.trial] = PbtState::kOver;
          seen.push_back({ruling.trial, ruling.from, ruling.target});
          break;
      }
    }
    ASSERT_EQ(seen, expected);
    for (const ForkSeen& fork : seen) {
      const TrialId trial = Add();
      ++forks_;
      targets_[trial] = fork.target;
      OracleOf(fork.loser).Replace(fork.loser, trial);
      pbt_.AdmitFork(trial, fork.loser);
      // The fork begins at the work of a checkpoint of the donor, which may be an old one.
      work_[trial] =
          static_cast<Work>(random_.Below(static_cast<std::uint64_t>(work_[fork.donor]) + 1));
    }
  }

  StopperSpec spec_;
  Random random_;
  Pbt pbt_;
  std::deque<PbtOracle> oracles_;
  std::map<TrialId, PbtState> states_;
  std::map<TrialId, Work> work_;
  std::map<TrialId, Work> targets_;
  struct WentEarly {
    TrialId trial{};
    std::size_t stage = 0;
    std::size_t population = 0;
  };
  std::vector<WentEarly> went_early_;
  std::size_t forks_ = 0;
  std::size_t early_ = 0;
};

TEST(PbtOracleTest, TheOutcomeIsThatOfWaitingForEveryone) {
  std::size_t forks = 0;
  std::size_t early = 0;
  for (std::uint64_t seed = 0; seed < 3000 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random = Random(seed).Fork("play");
    StopperSpec spec = AnySpec(random, "pbt");
    const bool wild = random.Chance(0.5);
    PbtPlay play(spec, seed);
    const std::size_t total = 1 + random.Below(20);
    while ((play.admitted() < total || play.running()) && !HasFatalFailure()) {
      if (play.admitted() < total && (random.Chance(0.3) || !play.running())) play.Admit();
      if (play.admitted() == total || random.Chance(0.01)) play.Close();
      if (random.Chance(0.05)) play.Restart();
      play.Advance(wild);
      if (random.Chance(0.3) || !play.running()) play.Resume();
      play.CheckEarly();
    }
    ASSERT_FALSE(play.waiting()) << "a trial waits for ever";
    forks += play.forks();
    early += play.early();
  }
  EXPECT_GT(forks, 10'000U);
  EXPECT_GT(early, 3000U);
}

// Whether the trial may be in a quantile of the first stage, over all values that the other trials
// may still report.
bool MayMatter(const PbtOracle& now, TrialId trial) {
  std::vector<std::pair<double, TrialId>> marks;
  std::vector<TrialId> open;
  for (const PbtOracle::Place& place : now.places) {
    if (place.values.contains(0)) {
      marks.emplace_back(place.values.at(0), place.trial);
    } else if (place.alive) {
      open.push_back(place.trial);
    }
  }
  bool matters = false;
  const std::function<void()> choose = [&] {
    if (open.empty()) {
      std::vector<std::pair<double, TrialId>> ranked = marks;
      std::ranges::sort(ranked, IsBetter);
      const std::size_t part = now.QuantileOf(ranked.size());
      for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
        const bool in_quantile = rank < part || rank >= ranked.size() - part;
        if (ranked[rank].second == trial && in_quantile) matters = true;
      }
      return;
    }
    const TrialId other = open.back();
    open.pop_back();
    choose();  // it fails
    for (const double value : {-1.0, 500.5, 2000.0, kNan}) {
      marks.emplace_back(value, other);
      choose();
      marks.pop_back();
    }
    open.push_back(other);
  };
  choose();
  return matters;
}

TEST(PbtOracleTest, ATrialThatCannotMatterGoesOnAtOnceAndNoOtherDoes) {
  int early = 0;
  int waiting = 0;
  for (std::uint64_t seed = 0; seed < 300 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random = Random(seed).Fork("early");
    const StopperSpec spec = {.name = "pbt",
                              .max_budget = 4,
                              .interval = 3,
                              .quantile = static_cast<double>(1 + random.Below(5)) / 10,
                              .seed = seed};
    PbtPlay play(spec, seed);
    const std::size_t total = 2 + random.Below(6);
    while (play.admitted() < total) play.Admit();
    play.Close();
    while (play.oracles().front().next == 0 && !HasFatalFailure()) {
      play.Advance(/*wild=*/false);
      play.Resume();
      const PbtOracle& now = play.oracles().front();
      if (now.next > 0) break;
      for (const PbtOracle::Place& place : now.places) {
        if (!place.values.contains(0) || play.StateOf(place.trial) == PbtState::kOver) continue;
        const bool waits = play.StateOf(place.trial) == PbtState::kPaused;
        ASSERT_EQ(waits, MayMatter(now, place.trial)) << Number(place.trial);
        (waits ? waiting : early) += 1;
      }
    }
  }
  EXPECT_GT(early, 100);
  EXPECT_GT(waiting, 1000);
}

}  // namespace
}  // namespace sluice
