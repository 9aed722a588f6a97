#include "cli/view/newly_ended.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/test_store.h"
#include "cli/view/progress.h"
#include "exec/wall_clock.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::uint32_t> IdsOf(const std::vector<TrialSummary>& trials) {
  std::vector<std::uint32_t> ids;
  for (const TrialSummary& trial : trials) ids.push_back(Number(trial.id));
  return ids;
}

TEST(NewlyEndedTest, FindsEachTrialOnce) {
  NewlyEnded ended;
  TrialSummary one{
      .id = TrialId(1), .state = TrialState::kComplete, .ended = WallNow(), .note = ""};
  TrialSummary two{.id = TrialId(2), .state = TrialState::kRunning, .note = ""};
  const TrialSummary early{.id = TrialId(3), .state = TrialState::kFailed, .note = ""};
  EXPECT_THAT(IdsOf(ended.Take({one, two, early})), ElementsAre(1));
  two.state = TrialState::kStopped;
  two.ended = WallNow();
  EXPECT_THAT(IdsOf(ended.Take({one, two, early})), ElementsAre(2));
  EXPECT_THAT(IdsOf(ended.Take({one, two, early})), IsEmpty());
  // A trial that is retried ends again.
  one.state = TrialState::kRunning;
  EXPECT_THAT(IdsOf(ended.Take({one, two})), IsEmpty());
  one.state = TrialState::kFailed;
  EXPECT_THAT(IdsOf(ended.Take({one, two})), ElementsAre(1));
}

TEST(NewlyEndedTest, SaysWhyATrialFailed) {
  TrialSummary trial{.id = TrialId(7), .state = TrialState::kFailed, .note = ""};
  EXPECT_EQ(FailedText(trial), "trial 7 failed");
  trial.note = "exit status 1\nTraceback";
  EXPECT_EQ(FailedText(trial), "trial 7 failed: exit status 1");
}

TEST(StoredStudyTest, IsShownAsTheStoreHasIt) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "stored_study";
  std::filesystem::remove_all(folder);
  const std::string path = (folder / "s.db").string();
  WriteTestStudy(path);
  const auto reader = Reader::Open(path);
  ASSERT_TRUE(reader);
  const auto study = (*reader)->FindStudy("fashion");
  ASSERT_TRUE(study);
  EXPECT_THAT(IdsOf(*LatestTrials(**reader, study->id)), ElementsAre(1, 2, 3, 4));

  const auto progress = MakeProgress(**reader, *study, study->created + std::chrono::minutes(10));
  ASSERT_TRUE(progress) << progress.error().message;
  EXPECT_EQ(progress->done(), 3);
  EXPECT_EQ(progress->reports, 6);
  ASSERT_EQ(progress->running.size(), 1u);
  EXPECT_EQ(progress->running[0].trial, TrialId(4));
  EXPECT_EQ(progress->running[0].work, 2);
  ASSERT_TRUE(progress->best);
  EXPECT_EQ(progress->best->trial, TrialId(4));
  EXPECT_DOUBLE_EQ(*progress->trials_per_minute, 0.3);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sluice
