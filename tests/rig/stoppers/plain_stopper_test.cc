#include "rig/stoppers/plain_stopper.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "base/state.h"
#include "search/samplers/test_history.h"

namespace sluice {
namespace {

// Makes the same calls to both stoppers, in orders that an engine could produce, and in some orders
// that no engine could produce.
class PlainPlay {
 public:
  PlainPlay(const StopperSpec& spec, std::uint64_t seed)
      : spec_(spec),
        random_(Random(seed).Fork("plain")),
        stopper_(*MakeStopper(spec)),
        plain_(MakePlainStopper(spec)) {}

  void Admit() {
    const TrialId trial = Add();
    trials_[trial].target = stopper_->Admit(trial);
    ASSERT_EQ(trials_[trial].target, plain_->Admit(trial));
  }
  void Close() { Follow(stopper_->Closed(), plain_->Closed()); }

  void Advance() {
    const auto trial = static_cast<TrialId>(1 + random_.Below(trials_.size()));
    Trial& state = trials_[trial];
    if (state.over) return;
    if (random_.Chance(0.03)) {
      state.over = true;
      const bool failed = random_.Chance(0.5);
      return Follow(stopper_->End(trial, failed), plain_->End(trial, failed));
    }
    const bool waits = state.paused && !random_.Chance(0.05);
    if (waits) return;
    state.work = AnyNextWork(random_, state.work, state.target);
    state.over = state.work >= spec_.max_budget;
    const double value = AnyLoss(random_);
    Follow(stopper_->Report(trial, state.work, value), plain_->Report(trial, state.work, value));
    if (state.over) Follow(stopper_->End(trial, false), plain_->End(trial, false));
  }

  void Resume() {
    while (true) {
      const auto group = stopper_->Next();
      const auto expected = plain_->Next();
      ASSERT_EQ(group.has_value(), expected.has_value());
      if (!group) return;
      ASSERT_EQ(group->members, expected->members);
      for (const auto& [trial, target] : group->members) {
        trials_[trial].paused = false;
        trials_[trial].target = target;
        ++resumed;
      }
      if (random_.Chance(0.5)) return;
    }
  }

  void Restart() {
    StateWriter writer;
    stopper_->Save(writer);
    StateReader reader(writer.bytes());
    stopper_ = *MakeStopper(spec_);
    ASSERT_TRUE(stopper_->Load(reader));
  }

  std::size_t size() const { return trials_.size(); }
  std::size_t resumed = 0;
  std::map<Verdict, std::size_t> verdicts;

 private:
  struct Trial {
    Work work = 0;
    Work target = 0;
    bool paused = false;
    bool over = false;
  };

  TrialId Add() {
    const auto trial = static_cast<TrialId>(trials_.size() + 1);
    trials_[trial] = {};
    return trial;
  }

  void Follow(const std::vector<Ruling>& rulings, const std::vector<Ruling>& expected) {
    ASSERT_EQ(rulings, expected);
    for (const Ruling& ruling : rulings) {
      ++verdicts[ruling.verdict];
      Trial& state = trials_[ruling.trial];
      state.paused = ruling.verdict == Verdict::kPause;
      if (ruling.verdict == Verdict::kGoOn) state.target = ruling.target;
      if (ruling.verdict == Verdict::kStop) state.over = true;
      if (ruling.verdict != Verdict::kFork) continue;
      state.over = true;
      const TrialId fork = Add();
      const Work donor = trials_[ruling.from].work;
      trials_[fork].work = static_cast<Work>(random_.Below(static_cast<std::uint64_t>(donor) + 1));
      trials_[fork].target = ruling.target;
      stopper_->AdmitFork(fork, ruling.trial);
      plain_->AdmitFork(fork, ruling.trial);
    }
  }

  StopperSpec spec_;
  Random random_;
  std::unique_ptr<Stopper> stopper_;
  std::unique_ptr<PlainStopper> plain_;
  std::map<TrialId, Trial> trials_;
};

class PlainStopperTest : public ::testing::TestWithParam<std::string> {};

TEST_P(PlainStopperTest, TheStopperRulesByItsDefinition) {
  std::map<Verdict, std::size_t> verdicts;
  std::size_t resumed = 0;
  for (std::uint64_t seed = 0; seed < 1500 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random = Random(seed).Fork(GetParam());
    const StopperSpec spec = AnySpec(random, GetParam());
    PlainPlay play(spec, seed);
    const std::size_t total = 1 + random.Below(30);
    for (int step = 0; step < 200 && !HasFatalFailure(); ++step) {
      if (play.size() == 0 || (step < 100 && play.size() < total && random.Chance(0.3)))
        play.Admit();
      if (step == 100 || random.Chance(0.02)) play.Close();
      if (random.Chance(0.02)) play.Restart();
      play.Advance();
      if (random.Chance(0.2)) play.Resume();
    }
    for (const auto& [verdict, times] : play.verdicts) verdicts[verdict] += times;
    resumed += play.resumed;
  }
  const std::string& name = GetParam();
  const bool forks = name.starts_with("pbt");
  const bool pauses = name != "asha" && name != "pbt-async";
  const bool judges_all = name == "median" || name == "percentile" || name == "patience";
  if (name == "none") {
    EXPECT_TRUE(verdicts.empty());
    return;
  }
  EXPECT_GT(verdicts[forks ? Verdict::kFork : Verdict::kStop], 500U);
  if (judges_all) return;
  // With asha-pausing the target of every trial is the full budget from the start. The ruling kGoOn
  // is only for a trial that continued to report although it was to pause.
  EXPECT_GT(verdicts[Verdict::kGoOn], name == "asha-pausing" ? 0U : 1000U);
  if (pauses) {
    EXPECT_GT(verdicts[Verdict::kPause], 1000U);
    EXPECT_GT(resumed, 500U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlainStopperTest, ::testing::ValuesIn(StopperNames()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace sluice
