// The user's own points: they are tried before the sampler is asked, and count as wanted trials.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Points that were enqueued before the controller started, as `enqueue:` in a study file does.
TestEngine EnqueuedFirst(const std::string& study, std::vector<Point> points) {
  TestEngine test(study, NodeOf(0));  // nothing can start here
  test.Enqueue(std::move(points));
  return test;
}

TEST(EngineQueueTest, EnqueuedPointsComeBeforeProposalsInTheirOrder) {
  TestEngine test = EnqueuedFirst("trials: 4\nparallelism: 1", {{0.25}, {0.75}});
  EXPECT_THAT(test.Happen(ControllerStarted{{NodeOf(kWhole)}}), ElementsAre("start 1.1 0..end"));
  EXPECT_EQ(test.Trial(1).point, Point{0.25});
  EXPECT_TRUE(test.Trial(1).enqueued);
  test.Report(1, 1, 0.5);
  EXPECT_THAT(test.End(1), ElementsAre("start 2.1 0..end"));
  EXPECT_EQ(test.Trial(2).point, Point{0.75});
  test.Report(2, 1, 0.5);
  EXPECT_THAT(test.End(2), ElementsAre("propose 0"));
  test.Propose(0, 0.5);
  EXPECT_FALSE(test.Trial(3).enqueued);
}

TEST(EngineQueueTest, ProposalsOnTheirWayStayAndThePointIsNext) {
  TestEngine test("trials: 3\nparallelism: 1");
  EXPECT_THAT(test.Enqueue({{0.25}}), IsEmpty());  // proposal 0 is on its way
  EXPECT_THAT(test.Wake(), IsEmpty());
  EXPECT_THAT(test.Propose(0, 0.5), ElementsAre("start 1.1 0..end"));
  test.Report(1, 1, 0.5);
  EXPECT_THAT(test.End(1), ElementsAre("start 2.1 0..end"));
  EXPECT_EQ(test.Trial(2).point, Point{0.25});
  EXPECT_EQ(test.Study().asked, 1U);
}

TEST(EngineQueueTest, TheyCountInTheTotalAndWhatDoesNotFitWaitsForMore) {
  TestEngine test = EnqueuedFirst("trials: 1", {{0.25}, {0.75}});
  test.Happen(ControllerStarted{{NodeOf(2 * kWhole)}});
  test.Report(1, 1, 0.5);
  EXPECT_THAT(test.End(1), ElementsAre("finished"));
  EXPECT_EQ(test.Study().queue.size(), 1U);
  EXPECT_EQ(test.Study().room(), 0);
  EXPECT_THAT(test.Happen(StudyResumed{kStudy, 2, {}}), ElementsAre("start 2.1 0..end"));
  EXPECT_EQ(test.Trial(2).point, Point{0.75});
}

TEST(EngineQueueTest, AFinishedStudyStaysFinishedUntilItIsResumed) {
  TestEngine test("trials: 1");
  test.Propose(1);
  test.Report(1, 1, 0.5);
  test.End(1);
  ASSERT_TRUE(test.Study().finished);
  EXPECT_THAT(test.Enqueue({{0.25}}), IsEmpty());
  EXPECT_THAT(test.Wake(), IsEmpty());
  EXPECT_TRUE(test.Study().finished);
  EXPECT_THAT(test.Happen(StudyResumed{kStudy, 2, {}}), ElementsAre("start 2.1 0..end"));
}

TEST(EngineQueueTest, AnExhaustedSpaceStillTriesThem) {
  TestEngine test("sampler: grid\nspace: {n: {int: [1, 2]}}\ntrials: 5\nparallelism: 1");
  test.Happen(Proposed{kStudy, 0, Point{1}});
  test.Report(1, 1, 0.5);
  test.End(1);
  test.Happen(Proposed{kStudy, 1, Point{2}});
  test.Report(2, 1, 0.5);
  test.End(2);
  test.Enqueue({{1}});
  EXPECT_THAT(test.Happen(Proposed{kStudy, 2, {}}), ElementsAre("start 3.1 0..end"));
  test.Report(3, 1, 0.5);
  EXPECT_THAT(test.End(3), ElementsAre("finished"));
  EXPECT_EQ(test.Study().ending, Finish::kExhausted);
}

TEST(EngineQueueTest, NothingStartsWhileDraining) {
  TestEngine test("trials: 3");
  test.Drain();
  test.Enqueue({{0.25}});
  EXPECT_THAT(test.Wake(), IsEmpty());
  EXPECT_EQ(test.Study().queue.size(), 1U);
}

TEST(EngineQueueTest, ASnapshotKeepsTheQueue) {
  TestEngine test("trials: 3");
  test.Enqueue({{0.25}, {0.75}});
  auto loaded = NewEngine();
  ASSERT_TRUE(loaded->Load(test.engine().Save(), {test.created()}));
  EXPECT_EQ(loaded->study(kStudy)->queue, test.Study().queue);
  EXPECT_EQ(loaded->study(kStudy)->enqueued, 2U);
  EXPECT_EQ(loaded->Digest(), test.engine().Digest());
}

TEST(EngineQueueTest, ASnapshotWithAPointOfAnotherSpaceIsRefused) {
  TestEngine test("trials: 3");
  test.Enqueue({{0.25, 0.5}});
  EXPECT_FALSE(NewEngine()->Load(test.engine().Save(), {test.created()}));
}

TEST(EngineQueueTest, KnowledgeOfEarlierTrialsMakesNoTrial) {
  TestEngine test("trials: 3");
  const std::uint64_t before = test.engine().Digest();
  EXPECT_THAT(test.Happen(KnowledgeGiven{
                  kStudy, "study 'a'", {{.point = {0.5}, .outcome = Outcome::kComplete}}}),
              IsEmpty());
  EXPECT_EQ(test.engine().Digest(), before);
}

}  // namespace
}  // namespace sluice
