#include "sim/world/launch_speeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "sim/test_simulation.h"

namespace sluice {
namespace {

using std::chrono::seconds;

// One device, and a study whose trials each keep half of it busy and take 30 GB of its memory.
class LaunchSpeedsTest : public ::testing::Test {
 protected:
  LaunchSpeedsTest() {
    auto made = MakeSimulatedStudies(scenario_, 1);
    SLUICE_CHECK(made.has_value(), "the study is good");
    studies_ = *std::move(made);
  }

  // A launch that works, and is to report after 10 units.
  std::uint32_t Open(std::uint32_t trial) {
    const std::uint32_t slot = launches_.Open({StudyId(1), TrialId(trial)}, LaunchId(1));
    SimulatedLaunch& launch = launches_[slot];
    launch.grant = {.node = NodeId(1), .cpus = kWhole, .gpu_share = 500, .devices = {DeviceId(0)}};
    launch.phase = Phase::kRun;
    launch.next_work = 10;
    return slot;
  }

  const Scenario scenario_ =
      Read(World(Entry("unit_time: 2s, busy: 0.5, interference: 1, memory: 30GB",
                       "    trials: 2\n    budget: {max: 10}\n    resources: {gpus: 0.5}\n"),
                 "{kind: A100}"));
  SimulatedStudies studies_;
  SharedDevices devices_{scenario_.nodes};
  EventQueue queue_;
  LaunchTable launches_{queue_};
  LaunchSpeeds speeds_{scenario_, studies_, devices_, launches_};
};

TEST_F(LaunchSpeedsTest, ANeighbourSlowsALaunchDownUntilItLeaves) {
  const std::uint32_t one = Open(1);
  speeds_.Join(one, Time{});
  EXPECT_DOUBLE_EQ(launches_[one].rate, 0.5);
  const std::uint32_t two = Open(2);
  speeds_.Join(two, Time{});
  EXPECT_DOUBLE_EQ(launches_[one].rate, 0.5 / 1.5);
  EXPECT_DOUBLE_EQ(launches_[two].rate, 0.5 / 1.5);
  speeds_.Part(two, Time{});
  EXPECT_DOUBLE_EQ(launches_[one].rate, 0.5);
}

TEST_F(LaunchSpeedsTest, TheNextReportOfANeighbourIsScheduledAnew) {
  const std::uint32_t one = Open(1);
  speeds_.Join(one, Time{});
  // After 10 s, 5 of 10 units are done. The others take 3 s each instead of 2 s.
  speeds_.Join(Open(2), Time(seconds(10)));
  const Moment moment = queue_.Pop();
  EXPECT_EQ(moment.what, Moment::kReport);
  EXPECT_EQ(moment.index, one);
  EXPECT_TRUE(launches_.IsCurrent(moment));
  EXPECT_EQ(moment.time, Time(seconds(25)));
}

TEST_F(LaunchSpeedsTest, MemoryThatNeighboursTakeIsNotFree) {
  const std::uint32_t one = Open(1);
  EXPECT_EQ(speeds_.WhyOutOfMemory(launches_[one]), "");
  speeds_.Join(one, Time{});
  EXPECT_THAT(speeds_.WhyOutOfMemory(launches_[Open(2)]),
              ::testing::StartsWith("out of memory on node1-gpu0: 30000 MB needed, "));
}

}  // namespace
}  // namespace sluice
