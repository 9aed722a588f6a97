#include "control/copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr StudyId kCopied{1};

CopyCheckpoint CopyTo(std::uint32_t from, std::uint32_t to) {
  return {.study = kCopied, .from = TrialId(from), .to = TrialId(to), .end = 9};
}
Start StartOf(std::uint32_t trial, std::uint32_t launch = 1) {
  return {.trial = {kCopied, TrialId(trial)}, .launch = LaunchId(launch), .grant = {}, .target = 9};
}
Evict EvictOf(std::uint32_t trial) { return {{kCopied, TrialId(trial)}}; }
wire::LaunchRef LaunchAt(std::uint32_t trial, std::uint32_t launch) {
  return {TrialId(trial), LaunchId(launch)};
}

TEST(CopiesTest, OnlyCommandsThatTouchTheCheckpointsWait) {
  Copies copies;
  EXPECT_FALSE(copies.Hold(StartOf(3))) << "no copy is under way";
  copies.Begin(CopyTo(3, 7));
  EXPECT_TRUE(copies.Hold(StartOf(3)));
  EXPECT_TRUE(copies.Hold(EvictOf(3)));
  EXPECT_TRUE(copies.Hold(EvictOf(7)));
  EXPECT_TRUE(copies.Hold(StartOf(7)));
  EXPECT_TRUE(copies.Hold(CopyTo(7, 8))) << "a copy of the copy";
  EXPECT_TRUE(copies.Hold(CopyTo(4, 7))) << "another copy for the same fork";
  EXPECT_FALSE(copies.Hold(StartOf(5)));
  EXPECT_FALSE(copies.Hold(EvictOf(6)));
  EXPECT_FALSE(copies.Hold(CopyTo(5, 9)));
  EXPECT_THAT(copies.End(TrialId(7)), SizeIs(6));
  EXPECT_FALSE(copies.Hold(StartOf(3)));
}

TEST(CopiesTest, AParentWaitsForAllCopiesOfItsCheckpoint) {
  Copies copies;
  copies.Begin(CopyTo(3, 7));
  EXPECT_FALSE(copies.Hold(CopyTo(3, 8))) << "two copies may read one checkpoint";
  copies.Begin(CopyTo(3, 8));
  EXPECT_TRUE(copies.Hold(StartOf(3)));
  const auto waited = copies.End(TrialId(7));
  ASSERT_THAT(waited, SizeIs(1));
  EXPECT_TRUE(copies.Hold(waited[0]));
  EXPECT_THAT(copies.End(TrialId(8)), SizeIs(1));
}

// Trial 7 starts only after its checkpoint was copied to trial 8, and that copy has to wait too.
TEST(CopiesTest, CommandsOfATrialKeepTheirOrder) {
  Copies copies;
  copies.Begin(CopyTo(3, 7));
  EXPECT_TRUE(copies.Hold(CopyTo(7, 8)));
  EXPECT_TRUE(copies.Hold(StartOf(7)));
  EXPECT_TRUE(copies.Hold(StartOf(8))) << "its copy waits";
  const auto waited = copies.End(TrialId(7));
  ASSERT_THAT(waited, SizeIs(3));
  ASSERT_FALSE(copies.Hold(waited[0]));
  copies.Begin(std::get<CopyCheckpoint>(waited[0]));
  EXPECT_TRUE(copies.Hold(waited[1]));
  EXPECT_TRUE(copies.Hold(waited[2]));
  const auto last = copies.End(TrialId(8));
  ASSERT_THAT(last, SizeIs(2));
  EXPECT_EQ(std::get<Start>(last[0]).trial.trial, TrialId(7));
  EXPECT_EQ(std::get<Start>(last[1]).trial.trial, TrialId(8));
}

TEST(CopiesTest, AStartThatWaitsCanBeDropped) {
  Copies copies;
  copies.Begin(CopyTo(3, 7));
  EXPECT_TRUE(copies.Hold(StartOf(3, 2)));
  EXPECT_FALSE(copies.DropStart(LaunchAt(3, 1))) << "another launch of the trial";
  EXPECT_FALSE(copies.DropStart(LaunchAt(4, 2)));
  EXPECT_TRUE(copies.DropStart(LaunchAt(3, 2)));
  EXPECT_FALSE(copies.DropStart(LaunchAt(3, 2))) << "it was dropped before";
  EXPECT_THAT(copies.End(TrialId(7)), IsEmpty());
}

TEST(CopiesTest, AllStartsCanBeDropped) {
  Copies copies;
  copies.Begin(CopyTo(3, 7));
  EXPECT_TRUE(copies.Hold(EvictOf(3)));
  EXPECT_TRUE(copies.Hold(StartOf(3, 2)));
  EXPECT_TRUE(copies.Hold(StartOf(7)));
  EXPECT_THAT(copies.DropStarts(), ElementsAre(LaunchAt(3, 2), LaunchAt(7, 1)));
  const auto waited = copies.End(TrialId(7));
  ASSERT_THAT(waited, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<Evict>(waited[0])) << "a removal is still to be made";
}

}  // namespace
}  // namespace sluice
