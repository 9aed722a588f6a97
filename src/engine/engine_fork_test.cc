// Forks: a new trial takes the place of one that lost, and begins from another trial's checkpoint.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kAsync =
    "trials: 2\nsampler: random\nstopper: {name: pbt-async, interval: 5}\nbudget: {max: 20}\n";
constexpr const char* kSync =
    "trials: 2\nsampler: random\nstopper: {name: pbt, interval: 5}\nbudget: {max: 20}\n";

TestEngine::Lines Copied(TestEngine& engine, int fork, std::optional<Work> work = {}) {
  return engine.Happen(CheckpointCopied{TestEngine::Key(fork), work, ""});
}

TestEngine::Lines NotCopied(TestEngine& engine, int fork, std::string error) {
  return engine.Happen(CheckpointCopied{TestEngine::Key(fork), {}, std::move(error)});
}

TestEngine::Lines Explored(TestEngine& engine, int fork, double x) {
  return engine.Happen(Proposed{
      .study = kStudy, .point = Point{x}, .fork = TrialId(static_cast<std::uint32_t>(fork))});
}

// Two trials. The first has saved and reported. The second is to lose against the first.
TestEngine TwoTrials(const std::string& study) {
  TestEngine engine(study);
  engine.Propose(2);
  engine.Save(1, 4, 100);
  engine.Report(1, 5, 1);
  return engine;
}

TEST(EngineForkTest, TheLoserIsStoppedAndAForkOfTheWinnerTakesItsPlace) {
  TestEngine engine = TwoTrials(kAsync);
  EXPECT_THAT(engine.Report(2, 5, 2),
              ElementsAre("propose fork 3 of 1", "stop 1.1 paused", "stop 2.1 stopped"));
  EXPECT_THAT(engine.End(1, Ending::kPaused), ElementsAre("copy 1 to 3", "start 1.2 5..10"))
      << "copied before it goes on";
  EXPECT_EQ(engine.Trial(2).note, "replaced by trial 3, a fork of trial 1");
  const Trial& fork = engine.Trial(3);
  EXPECT_EQ(fork.parent, TrialId(1));
  EXPECT_EQ(fork.forked_at, 4);
  EXPECT_EQ(fork.work, 4);
  EXPECT_EQ(fork.target, 10);
  EXPECT_FALSE(fork.HasResult()) << "its parent's results are not its own";
  EXPECT_EQ(fork.note, "a fork of trial 1 at epoch 4");
  EXPECT_EQ(engine.Study().checkpoint_bytes, 200);

  EXPECT_THAT(engine.End(2), IsEmpty()) << "the fork waits for its parameters and its copy";
  EXPECT_EQ(engine.State(2), TrialState::kStopped);
  EXPECT_THAT(Copied(engine, 3), IsEmpty());
  EXPECT_THAT(Explored(engine, 3, 0.6), ElementsAre("start 3.1 4..10"));
  EXPECT_EQ(engine.Trial(3).point, Point{0.6});
  EXPECT_THAT(Explored(engine, 3, 0.9), IsEmpty());
  EXPECT_EQ(engine.Trial(3).point, Point{0.6}) << "parameters never change";

  EXPECT_EQ(engine.engine().Admit(engine.MakeReport(3, 4, {{"loss", 0}})), Admission::kRetrained)
      << "what its parent did is not reported again";
  EXPECT_EQ(engine.engine().Admit(engine.MakeReport(3, 5, {{"loss", 0}})), Admission::kNew);
}

TEST(EngineForkTest, WithoutACheckpointAForkTrainsFromScratch) {
  TestEngine engine(kAsync);
  engine.Propose(2);
  engine.Report(1, 5, 1);
  engine.Report(2, 5, 2);
  EXPECT_THAT(engine.End(1, Ending::kPaused), ElementsAre("start 1.2 5..10"));
  EXPECT_EQ(engine.Trial(3).work, 0);
  EXPECT_EQ(engine.Trial(3).note,
            "a fork of trial 1 that trains from scratch: trial 1 has no checkpoint");
  engine.End(2);
  EXPECT_THAT(Explored(engine, 3, 0.6), ElementsAre("start 3.1 0..10"));
}

TEST(EngineForkTest, ACopyThatFailsIsSaidAndTheForkTrainsFromScratch) {
  TestEngine engine = TwoTrials(kAsync);
  engine.Report(2, 5, 2);
  engine.End(1, Ending::kPaused);
  engine.End(2);
  Explored(engine, 3, 0.6);
  EXPECT_THAT(NotCopied(engine, 3, "no space left on device"), ElementsAre("start 3.1 0..10"));
  EXPECT_EQ(engine.Trial(3).note,
            "a fork of trial 1 that trains from scratch: no space left on device");
  EXPECT_EQ(engine.Trial(3).saved_work, 0);
  EXPECT_EQ(engine.Study().checkpoint_bytes, 100);
}

TEST(EngineForkTest, AParentThatCouldNotTellWhatItSavedIsCopiedAsItIs) {
  TestEngine engine = TwoTrials(kAsync);
  engine.Report(2, 5, 2);
  engine.End(1, Ending::kLost);
  engine.End(2);
  EXPECT_EQ(engine.Trial(3).forked_at, 4) << "as far as one knows";
  Explored(engine, 3, 0.6);
  EXPECT_THAT(Copied(engine, 3, 12), ElementsAre("start 3.1 12..13"));
  EXPECT_EQ(engine.Trial(3).forked_at, 12);
  EXPECT_EQ(engine.Trial(3).saved_work, 12);
  EXPECT_EQ(engine.Trial(3).note, "a fork of trial 1 at epoch 12");
  EXPECT_EQ(engine.engine().Admit(engine.MakeReport(3, 12, {{"loss", 0}})), Admission::kRetrained);
}

TEST(EngineForkTest, WhatWasNotDoneIsAskedForAgain) {
  TestEngine engine = TwoTrials(kAsync);
  engine.Report(2, 5, 2);
  EXPECT_THAT(Describe(engine.engine().Unfinished()),
              ElementsAre("propose fork 3 of 1", "start 1.1 5..10", "stop 1.1 yield",
                          "start 2.1 5..5", "stop 2.1 stopped"));
  engine.End(1, Ending::kPaused);
  EXPECT_THAT(Describe(engine.engine().Unfinished()),
              ElementsAre("propose fork 3 of 1", "copy 1 to 3", "start 2.1 5..5",
                          "stop 2.1 stopped", "start 1.2 5..10"));
  Explored(engine, 3, 0.6);
  Copied(engine, 3);
  EXPECT_THAT(Describe(engine.engine().Unfinished()), Not(Contains(HasSubstr("fork"))));
  EXPECT_THAT(Describe(engine.engine().Unfinished()), Not(Contains(HasSubstr("copy"))));
}

TEST(EngineForkTest, AParentThatIsOnItsWayOutSavesFirst) {
  TestEngine engine(kSync);
  engine.Propose(2);
  EXPECT_THAT(engine.Report(2, 5, 2), ElementsAre("stop 2.1 paused"));
  engine.End(2, Ending::kPaused);
  // The winner's report decides. The winner pauses and saves, and only then is its checkpoint
  // copied.
  EXPECT_THAT(engine.Report(1, 5, 1), ElementsAre("stop 1.1 paused", "propose fork 3 of 1"));
  EXPECT_EQ(engine.State(2), TrialState::kStopped);
  Explored(engine, 3, 0.6);
  engine.Save(1, 5, 100);
  EXPECT_THAT(engine.End(1, Ending::kPaused), ElementsAre("copy 1 to 3", "start 1.2 5..10"))
      << "copied before it goes on";
  EXPECT_EQ(engine.Trial(3).forked_at, 5);
  EXPECT_THAT(Copied(engine, 3), ElementsAre("start 3.1 5..10"));
}

TEST(EngineForkTest, AnIntervalOfSynchronousPbtIsAGroup) {
  TestEngine engine(
      "trials: 4\nsampler: random\nstopper: {name: pbt, interval: 5}\nbudget: {max: 15}\n",
      NodeOf(8 * kWhole));
  engine.Propose(4);
  EXPECT_EQ(engine.Study().groups, 1U);
  const auto interval = [&](const std::vector<int>& members, Work work) {
    for (const int member : members) {
      engine.Save(member, work, 1);
      engine.Report(member, work, member);
      if (engine.Trial(member).leaving) engine.End(member, Ending::kPaused);
    }
  };
  interval({1, 2, 3, 4}, 5);
  ASSERT_EQ(engine.Study().trials.size(), 5U);
  EXPECT_EQ(engine.Trial(5).parent, TrialId(1));
  Explored(engine, 5, 0.1);
  Copied(engine, 5);
  EXPECT_EQ(engine.Study().groups, 2U);
  for (const int member : {1, 2, 3, 5}) EXPECT_EQ(engine.Trial(member).group, GroupId(2)) << member;
  interval({1, 2, 3, 5}, 10);
  Explored(engine, 6, 0.1);
  Copied(engine, 6);
  EXPECT_EQ(engine.Study().groups, 3U);
  for (const int member : {1, 2, 3, 6}) EXPECT_EQ(engine.Trial(member).group, GroupId(3)) << member;
  for (const int member : {1, 2, 3, 6}) {
    engine.Report(member, 15, 1);
    engine.End(member);
  }
  EXPECT_TRUE(engine.Study().finished);
  EXPECT_EQ(engine.Study().ending, Finish::kTrials);
  EXPECT_EQ(engine.Study().proposed(), 4);
  EXPECT_EQ(engine.Study().forks, 2);
}

TEST(EngineForkTest, AParentThatIsDoneBeforeItHearsIsNotForkedFrom) {
  TestEngine engine = TwoTrials(kAsync);
  engine.Report(2, 5, 2);
  engine.Save(1, 20, 100);
  engine.Report(1, 20, 0);
  EXPECT_THAT(engine.End(1), Not(Contains(HasSubstr("copy"))));
  EXPECT_EQ(engine.State(1), TrialState::kComplete);
  EXPECT_EQ(engine.Trial(3).note,
            "a fork of trial 1 that trains from scratch: the checkpoint of trial 1 is at the full "
            "budget already");
}

TEST(EngineForkTest, ForksDoNotCountAsTrialsThatAreWanted) {
  TestEngine engine = TwoTrials(
      "trials: 3\nsampler: random\nstopper: {name: pbt-async, interval: 5}\nbudget: {max: 20}\n");
  engine.Report(2, 5, 2);
  Explored(engine, 3, 0.6);
  engine.End(1, Ending::kPaused);
  Copied(engine, 3);
  EXPECT_EQ(engine.Study().room(), 1);
  // A fork goes on from work that was done, so it starts before a new trial.
  EXPECT_THAT(engine.End(2), ElementsAre("start 3.1 4..10"));
}

TEST(EngineForkTest, ACopyThatTheCapHasNoRoomForIsGivenUp) {
  TestEngine engine = TwoTrials(std::string(kAsync) + "checkpoint_cap: 150\n");
  engine.Report(2, 5, 2);
  EXPECT_THAT(engine.End(1, Ending::kPaused),
              ElementsAre("copy 1 to 3", "evict 3", "start 1.2 5..10"));
  EXPECT_THAT(engine.Trial(3).note, HasSubstr("its copy was removed to keep the checkpoint_cap"));
  EXPECT_EQ(engine.Trial(3).work, 0);
}

}  // namespace
}  // namespace sluice
