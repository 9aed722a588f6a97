#include "policy/confluence/return_from_borrowed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "policy/test_views.h"

namespace sluice {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const Demand kFusableWithoutCpus{
    .cpus = 0, .gpus = 1000, .memory_bytes = 2 << 10, .fused_most = 8, .fused_bytes = 1 << 10};

// One device of its own and one that is lent a tenth of the time.
class ReturnFromBorrowedTest : public testing::Test {
 protected:
  ReturnFromBorrowedTest() {
    t.cluster.Join(
        {.name = "lent",
         .cpus = 0,
         .devices = {{.uuid = "l", .kind = "A100", .memory_bytes = 40 << 10, .open = 100}}});
    StudyView& study = t.Study(1, kFusableWithoutCpus);
    study.start_up_known = true;
    study.start_up = std::chrono::seconds(1);
    for (int i = 0; i < 20; ++i) {
      t.speeds.Learn({.shape = "study1", .kind = "A100"}, 1, 1);
      t.speeds.Learn({.shape = "study1", .kind = "A100", .lent = true}, 0.1, 1);
    }
  }

  void Runs(std::uint32_t trial, NodeId node, Work left) {
    grants_.push_back({.node = node,
                       .cpus = 0,
                       .gpu_share = kWhole,
                       .memory_bytes = 1 << 10,
                       .devices = {DeviceId(0)},
                       .bundle = BundleId(Number(node)),
                       .program_bytes = 1 << 10});
    t.cluster.Take(grants_.back());
    WorkItem& item = t.Waiting(1, trial, left);
    t.view.studies[0].waiting = 0;
    item.running = true;
    item.movable = true;
    item.grant = &grants_.back();
  }
  std::vector<TrialKey> Leave() { return ReturnFromBorrowed(t.cluster, t.view, t.view.studies[0]); }

  TestViews t{1};
  std::deque<Grant> grants_;
};

TEST_F(ReturnFromBorrowedTest, ATrialThatIsSlowElsewhereComesHomeIfThereIsRoom) {
  Runs(1, NodeId(2), 100);
  Runs(2, NodeId(2), 100);
  EXPECT_THAT(Leave(), SizeIs(2));
}

TEST_F(ReturnFromBorrowedTest, NoTrialLeavesWhileOthersWaitForTheRoom) {
  Runs(1, NodeId(2), 100);
  t.Waiting(1, 2, 100);
  EXPECT_THAT(Leave(), IsEmpty());
}

TEST_F(ReturnFromBorrowedTest, AWaitingTrialKeepsNoneAwayIfNoMoreMayRunAtOnce) {
  Runs(1, NodeId(2), 100);
  t.Waiting(1, 2, 100);
  t.view.studies[0].running = 1;
  t.view.studies[0].parallelism = 2;
  EXPECT_THAT(Leave(), IsEmpty());
  t.view.studies[0].parallelism = 1;
  EXPECT_THAT(Leave(), SizeIs(1));
}

TEST_F(ReturnFromBorrowedTest, NoTrialLeavesThatHasNearlyEnded) {
  Runs(1, NodeId(2), 100);
  t.view.studies[0].start_up = std::chrono::hours(1);
  EXPECT_THAT(Leave(), IsEmpty());
}

TEST_F(ReturnFromBorrowedTest, NoTrialLeavesWhereAnotherStudyHoldsItsHome) {
  Runs(1, NodeId(2), 100);
  t.Study(2, {.cpus = 0, .gpus = 1000});
  t.Running(2, 1, 100, 1000);
  EXPECT_THAT(Leave(), IsEmpty());
}

TEST_F(ReturnFromBorrowedTest, ATrialThatMayGoOnCountsToItsEnd) {
  Runs(1, NodeId(2), 1);
  t.view.studies[0].start_up = std::chrono::seconds(10);
  EXPECT_THAT(Leave(), IsEmpty());
  t.view.studies[0].judged = true;
  t.view.studies[0].max_budget = 100;
  EXPECT_THAT(Leave(), SizeIs(1));
}

TEST_F(ReturnFromBorrowedTest, TrialsOnCoresAreNotOnLentDevices) {
  Runs(1, NodeId(2), 100);
  grants_.back().devices = {};
  t.view.studies[0].demand.gpus = 0;
  EXPECT_THAT(Leave(), IsEmpty());
}

TEST_F(ReturnFromBorrowedTest, NoMoreThanThereIsRoomFor) {
  for (std::uint32_t i = 1; i <= 7; ++i) Runs(i, NodeId(1), 100);
  for (std::uint32_t i = 8; i <= 12; ++i) Runs(i, NodeId(2), 100);
  EXPECT_LE(Leave().size(), 1U);
}

}  // namespace
}  // namespace sluice
