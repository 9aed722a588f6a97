// A study that trains the best of another, its leader, in one engine with it.

#include "engine/parts/transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr StudyId kLeader{1};
constexpr StudyId kFollower{2};

// A search that runs one trial at a time, and a study that trains its best. Trial n of the search
// is the point n / 100.
class TransfersTest : public ::testing::Test {
 protected:
  void Begin(const std::string& policy, int trials, const std::string& more = "") {
    Create(kLeader, "small", fmt::format("trials: {}\nparallelism: 1\n{}", trials, more));
    Create(kFollower, "target", fmt::format("transfer: small\npolicy: {}\n", policy));
    Happen(ControllerStarted{{NodeOf(cores_ * kWhole)}});
  }

  void Create(StudyId id, const std::string& name, const std::string& lines) {
    Happen(StudyCreated{.study = id,
                        .source = SourceOf(lines),
                        .folder = "/",
                        .seed = 1,
                        .spec = SpecOf(lines, name)});
  }

  template <typename Body>
  void Happen(Body body) {
    for (const Command& command : engine_->Apply({At(now_ += 1), std::move(body)})) {
      if (const auto* propose = std::get_if<Propose>(&command)) {
        const double x = static_cast<double>(propose->counter + 1) / 100;
        Happen(Proposed{propose->study, propose->counter, Point{x}});
      } else if (const auto* stop = std::get_if<StopLaunch>(&command)) {
        if (stop->reason != StopReason::kComplete)
          Happen(Ended(stop->trial, stop->launch, Ending::kPaused));
      }
    }
  }

  static LaunchEnded Ended(TrialKey trial, LaunchId launch, Ending ending) {
    return {
        .trial = trial, .launch = launch, .position = {}, .ending = ending, .reason = "for a test"};
  }

  // The trial that runs ends, with these results.
  void End(StudyId id, std::vector<double> losses) {
    for (const double loss : losses) {
      ASSERT_EQ(study(id).running.size(), 1U);
      const TrialKey key{id, study(id).running.front()};
      const Launch launch = study(id).trial(key.trial).launch;
      Happen(Reported{.trial = key,
                      .launch = launch.id,
                      .position = {.seq = 1, .offset = 0},
                      .work = 1,
                      .metrics = {{"loss", loss}}});
      Happen(Ended(key, launch.id, Ending::kDone));
    }
  }
  void Search(std::vector<double> losses) { End(kLeader, std::move(losses)); }

  const Study& study(StudyId id) { return *engine_->study(id); }
  // What the follower has trained so far, as the numbers of the leader's trials.
  std::vector<int> Trained() {
    std::vector<int> numbers;
    for (const Trial& trial : study(kFollower).trials)
      numbers.push_back(static_cast<int>(trial.point[0] * 100 + 0.5));
    return numbers;
  }
  const Trial& Latest() { return study(kFollower).trials.back(); }

  std::unique_ptr<Engine> engine_ = NewEngine();
  int cores_ = 4;
  double now_ = 0;
};

TEST_F(TransfersTest, MostPoliciesWaitForTheEnd) {
  for (const PolicyTraits& policy : Policies())
    EXPECT_EQ(policy.can.transfers == TransferRule::kFinalBest,
              policy.name != "hydro" && policy.name != "confluence");
  Begin("fifo", 4);
  Search({5, 3, 4});
  EXPECT_THAT(Trained(), IsEmpty());
  EXPECT_FALSE(study(kFollower).finished);
  Search({6});
  EXPECT_THAT(Trained(), ElementsAre(2));
  EXPECT_EQ(Latest().state, TrialState::kRunning);
  End(kFollower, {1});
  EXPECT_EQ(study(kFollower).ending, Finish::kTrials);
}

TEST_F(TransfersTest, HydroBeginsHalfWayAndAgainAtEachBest) {
  Begin("hydro", 8);
  Search({50, 40, 30});
  EXPECT_THAT(Trained(), IsEmpty());
  Search({20});
  EXPECT_THAT(Trained(), ElementsAre(4));
  Search({19.9});
  EXPECT_THAT(Trained(), ElementsAre(4, 5));
  const Trial& earlier = study(kFollower).trials.front();
  EXPECT_EQ(earlier.state, TrialState::kStopped);
  EXPECT_THAT(earlier.note, HasSubstr("study 'small' has a better trial"));
}

// The point in training has 20, the median is 40: a tenth of the distance is 2.
TEST_F(TransfersTest, ConfluenceBeginsAgainAtAClearlyBetterBest) {
  Begin("confluence", 9);
  Search({60, 50, 40, 40, 20});
  EXPECT_THAT(Trained(), ElementsAre(5));
  Search({18.1});
  EXPECT_THAT(Trained(), ElementsAre(5)) << "better, but not clearly";
  EXPECT_EQ(Latest().state, TrialState::kRunning);
  Search({17});
  EXPECT_THAT(Trained(), ElementsAre(5, 7));
  Search({16.9});
  EXPECT_THAT(Trained(), ElementsAre(5, 7));
  Search({90});
  EXPECT_THAT(Trained(), ElementsAre(5, 7, 8)) << "the search has ended: its best counts";
  EXPECT_FALSE(study(kFollower).finished);
  End(kFollower, {1});
  EXPECT_TRUE(study(kFollower).finished);
}

TEST_F(TransfersTest, WhatIsClearlyBetterIsMeasuredFromThePointInTraining) {
  Begin("confluence", 12);
  Search({60, 50, 40, 40, 40, 20});
  Search({18.5, 18});  // together they are
  EXPECT_THAT(Trained(), ElementsAre(6, 8));
}

TEST_F(TransfersTest, ResultsThatAreNotFiniteAreNoneOfTheResults) {
  const double inf = std::numeric_limits<double>::infinity();
  Begin("confluence", 12);
  Search({inf, inf, inf, inf, 40, 40, 40, 20});
  EXPECT_THAT(Trained(), ElementsAre(5, 8));
  Search({18.5});
  EXPECT_THAT(Trained(), ElementsAre(5, 8)) << "the median is 40";
  Search({17});
  EXPECT_THAT(Trained(), ElementsAre(5, 8, 10));
}

TEST_F(TransfersTest, AnEarlyFollowerTakesWhatItsLeaderLeaves) {
  Begin("confluence", 9, "resources: {cpus: 4}\n");
  Search({60, 50, 40, 40, 20, 10, 5});
  EXPECT_THAT(Trained(), IsEmpty()) << "the search has all cores";
  Search({7, 8});
  EXPECT_THAT(Trained(), ElementsAre(7));
}

TEST_F(TransfersTest, ALeaderWithoutAResultEndsItsFollower) {
  Begin("fifo", 2, "retries: 0\n");
  for (int n = 0; n < 2; ++n) {
    const TrialId trial = study(kLeader).running.front();
    Happen(Ended({kLeader, trial}, study(kLeader).trial(trial).launch.id, Ending::kFailed));
  }
  EXPECT_TRUE(study(kFollower).finished);
  EXPECT_EQ(study(kFollower).ending, Finish::kNoLeader);
  // The leader goes on. Its follower does once it is resumed.
  Happen(StudyResumed{kLeader, 3, {}});
  Search({1});
  EXPECT_TRUE(study(kFollower).finished);
  Happen(StudyResumed{kFollower, {}, {}});
  EXPECT_THAT(Trained(), ElementsAre(3));
}

TEST_F(TransfersTest, AFollowerWaitsForALeaderThatIsAwayAndForOneThatGoesOn) {
  Begin("fifo", 1);
  Happen(StudyPauseAsked{kLeader});
  ASSERT_EQ(study(kLeader).running.size(), 0U);
  Happen(StudyClosed{kLeader});
  std::unique_ptr<Engine> alone = engine_->Close(kLeader);
  Happen(Woken{});
  EXPECT_FALSE(study(kFollower).finished);
  engine_->Open(std::move(alone));
  Happen(StudyOpened{kLeader});
  Happen(StudyResumed{kLeader, {}, {}});
  Search({5});
  EXPECT_THAT(Trained(), ElementsAre(1));
  Happen(StudyResumed{kLeader, 2, {}});
  End(kFollower, {1});
  EXPECT_FALSE(study(kFollower).finished) << "its leader has more trials";
  Search({4});
  EXPECT_THAT(Trained(), ElementsAre(1, 2));
}

TEST_F(TransfersTest, ALeaderThatEndedWhileItWasAwayIsFollowedOnceItIsBack) {
  Begin("fifo", 3);
  Search({5});
  Happen(StudyPauseAsked{kLeader});
  Happen(StudyClosed{kLeader});
  std::unique_ptr<Engine> alone = engine_->Close(kLeader);
  (void)alone->Apply({At(now_ += 1), StudyStopAsked{kLeader}});
  ASSERT_TRUE(alone->study(kLeader)->finished);
  engine_->Open(std::move(alone));
  Happen(StudyOpened{kLeader});
  EXPECT_THAT(Trained(), ElementsAre(1));
}

// The follower has no other core than that of the trial that it replaces.
TEST_F(TransfersTest, ATrialMakesWayWhereThereIsNoOtherRoom) {
  for (const std::string policy : {"hydro", "confluence"}) {
    SCOPED_TRACE(policy);
    engine_ = NewEngine();
    cores_ = 2;
    Begin(policy, 5);
    Search({50, 40, 30});
    ASSERT_THAT(Trained(), ElementsAre(3));
    Search({10});
    EXPECT_THAT(Trained(), ElementsAre(3, 4));
    EXPECT_EQ(study(kFollower).trials.front().state, TrialState::kStopped);
    EXPECT_EQ(Latest().state, TrialState::kRunning);
  }
}

// A trial that moves is about to be placed again, unless there is a better one.
TEST_F(TransfersTest, ATrialThatMakesRoomIsReplacedToo) {
  Begin("hydro", 4);
  Search({50, 40});
  ASSERT_THAT(Trained(), ElementsAre(2));
  Happen(StudyPauseAsked{kFollower});
  EXPECT_EQ(Latest().state, TrialState::kWaiting);
  Search({30});
  Happen(StudyResumed{kFollower, {}, {}});
  EXPECT_THAT(Trained(), ElementsAre(2, 3));
  EXPECT_EQ(study(kFollower).trials.front().state, TrialState::kStopped);
}

}  // namespace
}  // namespace sluice
