#include "sim/read/scenario_study_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "sim/read/test_scenario_text.h"

namespace sluice {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(ScenarioStudyReaderTest, StudiesHaveTheDefaultsUnlessTheySayTheirOwn) {
  const Scenario scenario = Good(Text("[{devices: {kind: A100}}]", kDefaults, R"(
  - {study: plain}
  - study: other
    stopper: median
    budget: {max: 9}
    trials: 3
    resources: {gpus: 1}
    workload: {unit_time: 3s}
)"));
  ASSERT_EQ(scenario.studies.size(), 2);
  const auto& [plain, other] = std::tie(scenario.studies[0], scenario.studies[1]);
  EXPECT_EQ(plain.spec.trials, 8);
  EXPECT_EQ(plain.spec.demand.gpus, 500);
  EXPECT_EQ(plain.workload.start_up, seconds(5));
  EXPECT_EQ(other.spec.stopper.name, "median");
  EXPECT_EQ(other.spec.stopper.min_budget, 1);
  EXPECT_EQ(other.spec.stopper.max_budget, 9);
  EXPECT_EQ(other.spec.trials, 3);
  EXPECT_EQ(other.spec.demand.cpus, 2 * kWhole);
  EXPECT_EQ(other.spec.demand.gpus, kWhole);
  EXPECT_DOUBLE_EQ(other.workload.seconds_per_unit, 3);
  EXPECT_EQ(other.workload.start_up, seconds(5));
  EXPECT_EQ(other.workload.save, seconds(1));
}

TEST(ScenarioStudyReaderTest, ProblemsOfDefaultsAreSaidOnceWhereTheyAreWritten) {
  EXPECT_EQ(Bad(R"(nodes: [{devices: {kind: A100}}]
defaults:
  space: {lr: {float: [1e-4, 1], log: true}}
  objective: {maximize: accuracy}
  stoper: asha
  budget: {min: 30}
  trials: none
  workload: {unit_time: 10s, start_up: later}
studies:
  - study: a
    budget: {max: 27}
  - study: b
    budget: {max: 27}
    workload: {save: never}
)"),
            "s.yaml:5: defaults.stoper: unknown key (did you mean 'stopper'?)\n"
            "s.yaml:7: defaults.trials: expected a whole number from 1 to 10000000, found none\n"
            "s.yaml:8: defaults.workload.start_up: expected a duration such as 90s, 20m, 1h30m or "
            "2d, found later\n"
            "s.yaml:11: studies[0].budget: expected min <= max, found {max: 27, min: 30}\n"
            "s.yaml:13: studies[1].budget: expected min <= max, found {max: 27, min: 30}\n"
            "s.yaml:14: studies[1].workload.save: expected a duration such as 90s, 20m, 1h30m or "
            "2d, found never");
  EXPECT_THAT(Bad(Text("[{cpus: 1}]", "defaults: 3\n")),
              HasSubstr("s.yaml:2: defaults: expected a map"));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100}}]", "defaults: {study: x}\n")),
              HasSubstr("defaults.study: expected no name"));
}

TEST(ScenarioStudyReaderTest, DefaultsCountAsOftenAsTheyAreUsed) {
  std::string text = "nodes: [{cpus: 1}]\ndefaults:\n  space:\n";
  for (int i = 0; i < 2000; ++i) text += "    p" + std::to_string(i) + ": {float: [0, 1]}\n";
  text += "studies:\n";
  for (int i = 0; i < 1000; ++i) text += "  - {}\n";
  EXPECT_THAT(Bad(text), HasSubstr("studies: expected at most 1000000 values"));
}

TEST(ScenarioStudyReaderTest, RefusesWhatCannotBeSimulated) {
  const std::string message = Bad(Text("[{cpus: 4}]", "goal: time-to-target\n", R"(
  - study: a
    space: {x: {float: [0, 1]}}
    objective: {maximize: accuracy}
    trials: 3
    deadline: 2026-01-01T00:00:00Z
    warm_start: {study: b}
    stop_at: {loss: {below: 1}}
    workload: {unit_time: 1s, on: A100, widths: [[1, 1], [2, 0.5]], curve: {start: 1, best: 0}}
  - study: a
    space: {x: {float: [0, 1]}}
    objective: {maximize: accuracy}
    trials: 3
    budget: {max: 1000000000}
    workload: {unit_time: 1s}
)"));
  EXPECT_THAT(message, HasSubstr("simulated time has no calendar"));
  EXPECT_THAT(message, HasSubstr("no earlier one to begin from"));
  EXPECT_THAT(message, HasSubstr("report nothing else"));
  EXPECT_THAT(message, HasSubstr("neither a budget nor an end"));
  EXPECT_THAT(message, HasSubstr("use no GPU"));
  EXPECT_THAT(message, HasSubstr("never falls"));
  EXPECT_THAT(message, HasSubstr("start < best"));
  EXPECT_THAT(message, HasSubstr("a second 'a'"));
  EXPECT_THAT(message, HasSubstr("'report_every: 1001'"));
}

TEST(ScenarioStudyReaderTest, ATrialThatRunsInBubblesMakesProgressThere) {
  // A bubble lasts 1 ms. The gate leaves 0.5 ms of it.
  const auto fused = [](std::string_view segment, std::string_view lent) {
    return Working("memory: 1GB, segment: " + std::string(segment),
                   "{gpus: 1, memory: 1GB, lent: " + std::string(lent) + "}\n    fuse: 8",
                   kLending);
  };
  Good(fused("0.5ms", "true"));
  EXPECT_THAT(
      Bad(fused("0.6ms", "true")),
      HasSubstr("studies[0].workload: expected segments that end within a bubble of stage 0 "
                "of 'gpt', found 0.6 ms each; set a shorter 'segment'"));
  Good(fused("0.6ms", "false"));
}

}  // namespace
}  // namespace sluice
