#include "policy/confluence/deadline_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "policy/test_views.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Four GPUs. A unit of work takes ten seconds on one GPU, and a start-up takes twenty seconds.
class DeadlinePlannerTest : public testing::Test {
 protected:
  DeadlinePlannerTest() {
    StudyView& study = views_.Study(1, {.gpus = kWhole, .least = kWhole, .most = 4 * kWhole});
    study.deadline = Time(std::chrono::seconds(1000));
    study.max_budget = 1000;
    study.start_up_known = true;
    study.start_up = std::chrono::seconds(20);
    study.leaving = std::chrono::seconds(1);
    study.leaving_known = true;
    study.fresh = &Curve(0.5, 0.1);
    views_.speeds = SpeedModel({.widths = *WidthTable("resnet50")});
    for (int i = 0; i < 20; ++i)
      views_.speeds.Learn({.shape = "study1", .kind = "A100", .width = kWhole}, 1, 10);
  }

  // A loss that falls from 1 towards `limit`. After eight units of work it has come half of the
  // way.
  const Forecast& Curve(double limit, double spread) {
    forecasts_.push_back(
        {.known = true, .limit = limit, .drop = 1 - limit, .scale = 8, .spread = spread});
    return forecasts_.back();
  }
  WorkItem& Runs(std::uint32_t trial, Work done, const Forecast& forecast, Milli width = kWhole) {
    WorkItem& item = views_.Running(1, trial, 1000, width);
    item.done = done;
    item.heard = now_;
    item.forecast = &forecast;
    return item;
  }
  StudyView& study() { return views_.view.studies[0]; }

  // "1:4" is trial 1 at width 4; "new:2" stands for two trials that are to be proposed.
  std::vector<std::string> Chosen() const {
    const DeadlinePlanner focus(views_.cluster, views_.view, views_.view.studies[0], 4 * kWhole,
                                now_);
    std::vector<std::string> chosen;
    for (const Wanted& each : focus.chosen())
      chosen.push_back(std::to_string(Number(each.item->trial.trial)) + ":" +
                       TestViews::Shown(each.width));
    if (focus.fresh() > 0) chosen.push_back("new:" + std::to_string(focus.fresh()));
    return chosen;
  }

  std::vector<std::uint32_t> GivenUp() const {
    const DeadlinePlanner focus(views_.cluster, views_.view, views_.view.studies[0], 4 * kWhole,
                                now_);
    std::vector<std::uint32_t> given_up;
    for (const TrialKey& each : focus.given_up()) given_up.push_back(Number(each.trial));
    return given_up;
  }

  TestViews views_{4};
  Time now_{};

 private:
  std::deque<Forecast> forecasts_;
};

TEST_F(DeadlinePlannerTest, AtFirstEveryTrialHasADevice) {
  study().fresh = nullptr;
  study().open = true;
  study().left = 10;
  EXPECT_THAT(Chosen(), ElementsAre("new:4"));
}

TEST_F(DeadlinePlannerTest, ATrialThatIsSureToBeBestHasAllDevices) {
  Runs(1, 8, Curve(0.1, 0.01));
  for (const std::uint32_t trial : {2u, 3u, 4u}) Runs(trial, 8, Curve(0.5, 0.01));
  EXPECT_THAT(Chosen(), ElementsAre("1:4"));
}

TEST_F(DeadlinePlannerTest, WhileTheBestTrialIsUnknownAllGoOn) {
  for (const std::uint32_t trial : {1u, 2u, 3u, 4u}) Runs(trial, 1, Curve(0.4, 0.2));
  EXPECT_THAT(Chosen(), UnorderedElementsAre("1:1", "2:1", "3:1", "4:1"));
}

TEST_F(DeadlinePlannerTest, NoTrialStartsThatCannotBecomeGoodInTime) {
  Runs(1, 8, Curve(0.1, 0.01), 4 * kWhole);
  study().open = true;
  study().left = 10;
  EXPECT_THAT(Chosen(), ElementsAre("1:4"));
}

TEST_F(DeadlinePlannerTest, ANewTrialIsWorthMoreThanOneThatIsBad) {
  for (const std::uint32_t trial : {1u, 2u, 3u, 4u}) Runs(trial, 8, Curve(0.9, 0.01));
  study().open = true;
  study().left = 10;
  EXPECT_THAT(Chosen(), ElementsAre("new:4"));
}

TEST_F(DeadlinePlannerTest, OneThatWaitsComesBack) {
  for (const std::uint32_t trial : {1u, 2u, 3u, 4u}) Runs(trial, 8, Curve(0.6, 0.01));
  WorkItem& paused = views_.Waiting(1, 5, 1000);
  paused.done = 8;
  paused.admitted = true;
  paused.forecast = &Curve(0.1, 0.01);
  EXPECT_THAT(Chosen(), ElementsAre("5:4"));
}

TEST_F(DeadlinePlannerTest, NearTheDeadlineNothingIsChanged) {
  Runs(1, 8, Curve(0.1, 0.01));
  for (const std::uint32_t trial : {2u, 3u, 4u}) Runs(trial, 8, Curve(0.5, 0.01));
  now_ = study().deadline - std::chrono::seconds(15);
  for (WorkItem& item : views_.view.items) item.heard = now_;
  EXPECT_THAT(Chosen(), UnorderedElementsAre("1:1", "2:1", "3:1", "4:1"));
}

TEST_F(DeadlinePlannerTest, WhatLeavingTakesIsPartOfThePrice) {
  Runs(1, 8, Curve(0.1, 0.01));
  for (const std::uint32_t trial : {2u, 3u, 4u}) Runs(trial, 8, Curve(0.5, 0.01));
  study().leaving = std::chrono::seconds(950);
  EXPECT_THAT(Chosen(), UnorderedElementsAre("1:1", "2:1", "3:1", "4:1"));
}

TEST_F(DeadlinePlannerTest, ATrialThatIsNotWorthSavingIsGivenUp) {
  study().best = 0.7;
  study().leaving = std::chrono::seconds(20);
  for (const std::uint32_t trial : {1u, 2u, 3u, 4u}) Runs(trial, 8, Curve(0.6, 0.01));
  views_.view.items[3].movable = false;
  WorkItem& paused = views_.Waiting(1, 5, 1000);
  paused.done = 8;
  paused.admitted = true;
  paused.forecast = &Curve(0.1, 0.01);
  EXPECT_THAT(Chosen(), ElementsAre("4:1", "5:3"));
  EXPECT_THAT(GivenUp(), ElementsAre(1, 2, 3));
  // Where there is a stopper, only the stopper stops trials.
  study().judged = true;
  EXPECT_THAT(GivenUp(), IsEmpty());
  // A trial that may still become good is saved.
  study().judged = false;
  for (WorkItem& item : views_.view.items)
    if (item.running) item.forecast = &Curve(0.6, 0.3);
  EXPECT_THAT(GivenUp(), IsEmpty());
}

TEST_F(DeadlinePlannerTest, WhatLeavingTakesIsLearnedFromOne) {
  study().leaving_known = false;
  for (const std::uint32_t trial : {1u, 2u, 3u}) Runs(trial, 8, Curve(0.9, 0.01));
  Runs(4, 8, Curve(0.91, 0.01));
  study().open = true;
  study().left = 10;
  EXPECT_THAT(Chosen(), UnorderedElementsAre("1:1", "2:1", "3:1", "new:1"));
  views_.view.items[3].leaving = true;
  EXPECT_THAT(Chosen(), testing::Contains("3:1"));
}

TEST_F(DeadlinePlannerTest, ATrialThatIsGivenUpNeedNotWaitUntilThatIsLearned) {
  study().leaving_known = false;
  study().best = 0.7;
  Runs(1, 8, Curve(0.6, 0.4));
  for (const std::uint32_t trial : {2u, 3u, 4u}) Runs(trial, 8, Curve(0.9, 0.01));
  study().open = true;
  study().left = 10;
  EXPECT_THAT(GivenUp(), ElementsAre(2, 3, 4));
  EXPECT_THAT(Chosen(), testing::Contains("new:3"));
}

TEST_F(DeadlinePlannerTest, WhereThereIsHardlyTimeForAStartItCountsInFull) {
  Runs(1, 8, Curve(0.38, 0.01), 4 * kWhole);
  study().open = true;
  study().left = 10;
  study().fresh = &Curve(0.05, 0.1);
  now_ = study().deadline - std::chrono::seconds(100);
  for (WorkItem& item : views_.view.items) item.heard = now_;
  study().start_up = std::chrono::seconds(45);
  EXPECT_THAT(Chosen(), ElementsAre(testing::StartsWith("new")));
  study().start_up = std::chrono::seconds(80);
  EXPECT_THAT(Chosen(), ElementsAre("1:4"));
}

TEST_F(DeadlinePlannerTest, BeforeAStartHasItsPriceNothingIsChanged) {
  Runs(1, 8, Curve(0.1, 0.01));
  for (const std::uint32_t trial : {2u, 3u, 4u}) Runs(trial, 8, Curve(0.5, 0.01));
  study().start_up_known = false;
  EXPECT_THAT(Chosen(), UnorderedElementsAre("1:1", "2:1", "3:1", "4:1"));
}

TEST_F(DeadlinePlannerTest, ATrialThatCannotBeMovedStays) {
  Runs(1, 8, Curve(0.1, 0.01));
  Runs(2, 0, *study().fresh).movable = false;
  EXPECT_THAT(Chosen(), UnorderedElementsAre("1:3", "2:1"));
}

TEST_F(DeadlinePlannerTest, NotMoreAreAliveThanMayBe) {
  study().fresh = nullptr;
  study().open = true;
  study().left = 10;
  study().parallelism = 2;
  EXPECT_THAT(Chosen(), ElementsAre("new:2"));
}

TEST_F(DeadlinePlannerTest, ATrialThatTakesThePlaceOfAnotherWaitsUntilThatOneHasLeft) {
  for (const std::uint32_t trial : {1u, 2u}) Runs(trial, 8, Curve(0.6, 0.01));
  WorkItem& paused = views_.Waiting(1, 5, 1000);
  paused.done = 8;
  paused.admitted = true;
  paused.forecast = &Curve(0.1, 0.01);
  study().parallelism = 2;
  EXPECT_THAT(Chosen(), IsEmpty());
}

TEST_F(DeadlinePlannerTest, NothingToDoIsNoPlan) { EXPECT_THAT(Chosen(), IsEmpty()); }

TEST_F(DeadlinePlannerTest, TheExpectedLossIsThatOfTheBest) {
  Runs(1, 8, Curve(0.1, 0), 4 * kWhole);
  study().best = 0.55;
  const DeadlinePlanner focus(views_.cluster, views_.view, views_.view.studies[0], 4 * kWhole,
                              now_);
  EXPECT_GT(focus.expected(), 0.1);
  EXPECT_LT(focus.expected(), 0.15);
}

}  // namespace
}  // namespace sluice
