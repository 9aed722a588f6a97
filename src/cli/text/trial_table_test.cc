#include "cli/text/trial_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/text/test_lines.h"

namespace sluice {
namespace {

TEST(TrialTableTest, EachParameterThatATrialHasIsAColumnInTheOrderOfTheSpace) {
  StudyInfo study;
  study.metric = "loss";
  study.unit = "epoch";
  std::vector<TrialInfo> trials;
  const auto add = [&](std::string params) {
    TrialInfo trial;
    trial.id = TrialId(static_cast<std::uint32_t>(trials.size() + 1));
    trial.params = std::move(params);
    trials.push_back(std::move(trial));
  };
  add(R"({"opt": "sgd", "momentum": 0.9, "width": 8})");
  add(R"({"opt": "adam", "beta": 0.5, "width": 16})");
  add(R"({"opt": "adam", "beta": 0.6, "width": 16, "seed": 3})");
  const std::string table = TrialTable(study, trials, Terminal{}, Time{});
  const auto lines = Lines(table);
  ASSERT_EQ(lines.size(), 4U) << table;
  EXPECT_THAT(lines[0], ::testing::ContainsRegex("opt +beta +momentum +width +seed"));
  EXPECT_THAT(lines[1], ::testing::ContainsRegex("sgd +0\\.9 +8"));
  EXPECT_THAT(lines[2], ::testing::ContainsRegex("adam +0\\.5 +16"));
  EXPECT_THAT(lines[3], ::testing::ContainsRegex("adam +0\\.6 +16 +3"));
}

}  // namespace
}  // namespace sluice
