#include "sim/world/launch_table.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::seconds;

constexpr TrialKey kOne{StudyId(1), TrialId(1)};
constexpr TrialKey kTwo{StudyId(2), TrialId(7)};

TEST(LaunchTableTest, FindsTheLaunchesThatLive) {
  EventQueue queue;
  LaunchTable launches(queue);
  EXPECT_EQ(launches.Find(kTwo, LaunchId(1)), kNoSlot);
  const std::uint32_t one = launches.Open(kOne, LaunchId(1));
  const std::uint32_t two = launches.Open(kTwo, LaunchId(3));
  EXPECT_EQ(launches.Find(kOne, LaunchId(1)), one);
  EXPECT_EQ(launches.Find(kTwo, LaunchId(3)), two);
  EXPECT_EQ(launches.Find(kTwo, LaunchId(2)), kNoSlot) << "an earlier launch of the trial";
  launches.Close(one);
  EXPECT_EQ(launches.Find(kOne, LaunchId(1)), kNoSlot);
  EXPECT_FALSE(launches.Lives(one));
  EXPECT_TRUE(launches.Lives(two));
}

TEST(LaunchTableTest, ASlotIsUsedAgainByALaunchThatBeginsAfresh) {
  EventQueue queue;
  LaunchTable launches(queue);
  const std::uint32_t slot = launches.Open(kOne, LaunchId(1));
  launches[slot].work = 5;
  launches.Close(slot);
  EXPECT_EQ(launches.Open(kTwo, LaunchId(1)), slot);
  EXPECT_EQ(launches[slot].work, 0);
  EXPECT_EQ(launches[slot].trial, kTwo);
  EXPECT_EQ(launches.size(), 1U);
}

TEST(LaunchTableTest, OnlyTheLastMomentOfALaunchCounts) {
  EventQueue queue;
  LaunchTable launches(queue);
  const std::uint32_t slot = launches.Open(kOne, LaunchId(1));
  launches.Schedule(Time(seconds(1)), Moment::kReport, slot);
  launches.Schedule(Time(seconds(2)), Moment::kReport, slot);
  EXPECT_FALSE(launches.IsCurrent(queue.Pop()));
  EXPECT_TRUE(launches.IsCurrent(queue.Pop()));
  launches.Schedule(Time(seconds(3)), Moment::kReport, slot);
  launches.Unschedule(slot);
  EXPECT_FALSE(launches.IsCurrent(queue.Pop()));
}

TEST(LaunchTableTest, NoMomentReachesTheNextLaunchInTheSlot) {
  EventQueue queue;
  LaunchTable launches(queue);
  const std::uint32_t slot = launches.Open(kOne, LaunchId(1));
  launches.Schedule(Time(seconds(1)), Moment::kLeft, slot);
  launches.Close(slot);
  ASSERT_EQ(launches.Open(kOne, LaunchId(2)), slot);
  EXPECT_FALSE(launches.IsCurrent(queue.Pop()));
}

}  // namespace
}  // namespace sluice
