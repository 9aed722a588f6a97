// What every stopper promises (search/stopper.h), under a small engine that keeps its side of the
// contract.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/state.h"
#include "search/samplers/test_history.h"
#include "search/stopper.h"

namespace sluice {
namespace {

std::uint64_t DigestOf(const Stopper& stopper) {
  Digest digest;
  stopper.AddTo(digest);
  return digest.Value();
}

std::string SavedBytes(const Stopper& stopper) {
  StateWriter writer;
  stopper.Save(writer);
  return writer.Take();
}

std::unique_ptr<Stopper> Restored(const StopperSpec& spec, const Stopper& stopper) {
  std::unique_ptr<Stopper> restored = MakeStopper(spec).value();
  const std::string bytes = SavedBytes(stopper);
  StateReader reader(bytes);
  const Status loaded = restored->Load(reader);
  EXPECT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(reader.Finish());
  return restored;
}

enum class State { kRunning, kPaused, kOver };

struct Trial {
  State state = State::kRunning;
  Work work = 0;
  Work target = 0;
};

// Drives a stopper and, with the same calls, another that is saved and loaded at random moments.
// Checks every ruling.
class World {
 public:
  World(const StopperSpec& spec, std::uint64_t seed)
      : spec_(spec),
        random_(Random(seed).Fork("world")),
        steady_(MakeStopper(spec).value()),
        restarted_(MakeStopper(spec).value()) {}

  void Run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFatalFailure(); ++step) {
      if (random_.Chance(0.05)) restarted_ = Restored(spec_, *restarted_);
      if (random_.Chance(0.2)) Admit();
      if (random_.Chance(0.3)) Resume();
      if (random_.Chance(0.02)) Close();
      if (!trials_.empty()) Advance();
      ASSERT_EQ(DigestOf(*steady_), DigestOf(*restarted_)) << step;
    }
    EXPECT_EQ(SavedBytes(*steady_), SavedBytes(*restarted_));
  }

  // No more trials come, and those there are report until none can go on.
  void Finish() {
    while (!::testing::Test::HasFatalFailure()) {
      Close();
      Resume();
      bool ran = false;
      for (std::size_t i = 0; i < trials_.size(); ++i) {
        if (trials_[i].state != State::kRunning) continue;
        ran = true;
        Report(static_cast<TrialId>(i + 1));
      }
      if (!ran) return;
    }
  }

  int paused() const {
    return static_cast<int>(std::ranges::count(trials_, State::kPaused, &Trial::state));
  }

  int forks() const { return forks_; }

  const Stopper& steady() const { return *steady_; }

 private:
  Trial& At(TrialId trial) { return trials_[Number(trial) - 1]; }
  bool Known(TrialId trial) const { return IsSet(trial) && Number(trial) <= trials_.size(); }

  void Admit() {
    trials_.emplace_back();
    const auto trial = static_cast<TrialId>(trials_.size());
    const Work target = steady_->Admit(trial);
    ASSERT_EQ(target, restarted_->Admit(trial));
    ASSERT_GT(target, 0);
    ASSERT_LE(target, spec_.max_budget);
    At(trial).target = target;
  }

  void Resume() {
    const std::optional<TrialGroup> group = steady_->Next();
    const std::optional<TrialGroup> other = restarted_->Next();
    ASSERT_EQ(group.has_value(), other.has_value());
    if (!group) return;
    ASSERT_EQ(group->members, other->members);
    ASSERT_FALSE(group->members.empty());
    for (const auto& member : group->members) {
      ASSERT_TRUE(Known(member.trial));
      Trial& trial = At(member.trial);
      ASSERT_EQ(trial.state, State::kPaused);
      ASSERT_GT(member.target, trial.work);
      ASSERT_LE(member.target, spec_.max_budget);
      trial.state = State::kRunning;
      trial.target = member.target;
    }
  }

  void Advance() {
    const auto id = static_cast<TrialId>(random_.Below(trials_.size()) + 1);
    Trial& trial = At(id);
    if (trial.state == State::kOver) return;
    if (random_.Chance(0.03)) return End(id, /*failed=*/true);
    if (trial.state == State::kRunning) Report(id);
  }

  void Report(TrialId id) {
    Trial& trial = At(id);
    trial.work = AnyNextWork(random_, trial.work, std::min<Work>(trial.target, 1000));
    const double value = AnyLoss(random_);
    const std::vector<Ruling> rulings = steady_->Report(id, trial.work, value);
    ASSERT_EQ(rulings, restarted_->Report(id, trial.work, value));
    const bool complete = trial.work >= spec_.max_budget;
    bool ruled = false;
    for (const Ruling& ruling : rulings) {
      ruled = ruled || ruling.trial == id;
      Follow(ruling, ruling.trial == id);
    }
    if (complete) {
      ASSERT_FALSE(ruled) << "a complete trial is not ruled upon";
      return End(id, /*failed=*/false);
    }
    ASSERT_TRUE(ruled || trial.work < trial.target) << "a trial at its target gets a ruling";
  }

  void Follow(const Ruling& ruling, bool own) {
    ASSERT_TRUE(Known(ruling.trial));
    ASSERT_TRUE(own || ruling.verdict == Verdict::kStop || ruling.verdict == Verdict::kFork)
        << "others are stopped, replaced, or resumed by Next";
    Trial& trial = At(ruling.trial);
    ASSERT_NE(trial.state, State::kOver) << "ruled upon after its end";
    switch (ruling.verdict) {
      case Verdict::kGoOn:
        ASSERT_GT(ruling.target, trial.work);
        ASSERT_LE(ruling.target, spec_.max_budget);
        trial.target = ruling.target;
        trial.state = State::kRunning;
        break;
      case Verdict::kPause: trial.state = State::kPaused; break;
      case Verdict::kStop: trial.state = State::kOver; break;
      case Verdict::kFork: Fork(ruling); break;
    }
  }

  // The new trial begins wherever the other's checkpoint is, or has none.
  void Fork(const Ruling& ruling) {
    ASSERT_TRUE(Known(ruling.from));
    ASSERT_NE(ruling.from, ruling.trial);
    const Trial& donor = At(ruling.from);
    ASSERT_NE(donor.state, State::kOver) << "forked from one that has ended";
    ASSERT_GT(donor.work, 0) << "forked from one that has no value";
    ASSERT_GT(ruling.target, donor.work);
    ASSERT_LE(ruling.target, spec_.max_budget);
    const Work saved = static_cast<Work>(random_.Below(static_cast<std::uint64_t>(donor.work) + 1));
    At(ruling.trial).state = State::kOver;
    trials_.push_back({.state = State::kRunning, .work = saved, .target = ruling.target});
    const auto fork = static_cast<TrialId>(trials_.size());
    steady_->AdmitFork(fork, ruling.trial);
    restarted_->AdmitFork(fork, ruling.trial);
    ++forks_;
  }

  void End(TrialId id, bool failed) {
    At(id).state = State::kOver;
    const std::vector<Ruling> rulings = steady_->End(id, failed);
    ASSERT_EQ(rulings, restarted_->End(id, failed));
    for (const Ruling& ruling : rulings) Follow(ruling, /*own=*/false);
  }

  void Close() {
    const std::vector<Ruling> rulings = steady_->Closed();
    ASSERT_EQ(rulings, restarted_->Closed());
    for (const Ruling& ruling : rulings) Follow(ruling, /*own=*/false);
    const std::uint64_t once = DigestOf(*steady_);
    ASSERT_TRUE(steady_->Closed().empty());
    ASSERT_EQ(DigestOf(*steady_), once) << "what is closed is closed";
  }

  StopperSpec spec_;
  Random random_;
  std::unique_ptr<Stopper> steady_;
  std::unique_ptr<Stopper> restarted_;
  std::deque<Trial> trials_;  // forks come while one is looked at
  int forks_ = 0;
};

class StopperContract : public ::testing::TestWithParam<std::string> {};

TEST_P(StopperContract, RulingsAreSoundAndSurviveRestarts) {
  int forks = 0;
  for (std::uint64_t seed = 0; seed < 300 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random = Random(seed).Fork("spec");
    World world(AnySpec(random, GetParam()), seed);
    world.Run(300);
    world.Finish();
    forks += world.forks();
    // Asynchronous halving may keep a trial paused for ever, in case more come.
    if (GetParam() != "asha-promotion" && GetParam() != "asha-pausing") {
      ASSERT_EQ(world.paused(), 0);
    }
  }
  EXPECT_EQ(forks > 1000, GetParam().starts_with("pbt")) << forks;
}

TEST_P(StopperContract, OneHistoryIsOneDigest) {
  const StopperSpec spec = {.name = GetParam(), .max_budget = 27};
  World one(spec, 5);
  World two(spec, 5);
  EXPECT_EQ(DigestOf(one.steady()), DigestOf(two.steady()));
  one.Run(100);
  two.Run(100);
  EXPECT_EQ(DigestOf(one.steady()), DigestOf(two.steady()));
}

TEST_P(StopperContract, AStudyOfOneBudgetRunsEveryTrialToIt) {
  const auto stopper = MakeStopper({.name = GetParam(), .min_budget = 5, .max_budget = 5}).value();
  EXPECT_EQ(stopper->Admit(TrialId(1)), 5);
  EXPECT_TRUE(stopper->Report(TrialId(1), 5, 1).empty());
}

// Whatever bytes are there: an error or a state, never a crash, and after an error the old state.
TEST_P(StopperContract, DamagedStatesAreRefused) {
  const StopperSpec spec = {.name = GetParam(), .max_budget = 27};
  World world(spec, 9);
  world.Run(200);
  const std::string bytes = SavedBytes(world.steady());
  Random random(1);
  for (int round = 0; round < 2000 && !bytes.empty(); ++round) {
    std::string damaged = bytes.substr(0, random.Below(bytes.size() + 1));
    if (random.Chance(0.5)) {
      damaged = bytes;
      damaged[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
    }
    const auto stopper = MakeStopper(spec).value();
    const std::uint64_t before = DigestOf(*stopper);
    StateReader reader(damaged);
    if (damaged.size() < bytes.size()) {
      ASSERT_FALSE(stopper->Load(reader)) << damaged.size();
      ASSERT_EQ(DigestOf(*stopper), before);
    } else if (stopper->Load(reader)) {
      while (stopper->Next()) {
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StopperContract, ::testing::ValuesIn(StopperNames()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

}  // namespace
}  // namespace sluice
