// How a scenario is read as a whole; its parts have tests of their own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/read/scenario.h"
#include "sim/read/test_scenario_text.h"

namespace sluice {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(ScenarioReaderTest, ReadsAClusterAndItsStudies) {
  const Scenario scenario = Good(R"(
scenario: two
goal: error-at-deadline
seeds: 7
nodes:
  - {name: big, count: 2, cpus: 64, devices: [{kind: H100, count: 2}, {kind: A100, memory: 80GiB}]}
  - {name: old, cpus: 16, devices: {kind: V100, count: 8}}
pipeline_jobs:
  - {name: gpt, kind: A100, stages: 4, micro_batches: 8, forward: 12ms, backward: 24ms,
     free_memory: 20GiB}
studies:
  - study: resnet
    space: {lr: {float: [1e-4, 1], log: true}}
    objective: {maximize: accuracy}
    stopper: asha
    budget: {min: 1, max: 27}
    trials: 100
    deadline: 30m
    resources: {cpus: 4, gpus: 2}
    arrives: 5m
    workload:
      unit_time: 20s
      on: V100
      widths: resnet50
      spread: 0.1
      busy: 0.8
      memory: 12GB
      start_up: 30s
      save: 4s
      restore: 6s
      checkpoint: 100MB
      report_every: 3
      speeds: {H100: 4}
      curve: {half_work: 5, noise: 0.01, nans: 0.02}
)");
  EXPECT_EQ(scenario.name, "two");
  EXPECT_EQ(scenario.goal, Goal::kErrorAtDeadline);
  EXPECT_EQ(scenario.seeds, 7);
  ASSERT_EQ(scenario.nodes.size(), 3);
  EXPECT_EQ(scenario.nodes[0].name, "big1");
  EXPECT_EQ(scenario.nodes[1].name, "big2");
  EXPECT_EQ(scenario.nodes[2].name, "old");
  ASSERT_EQ(scenario.nodes[1].devices.size(), 3);
  EXPECT_EQ(scenario.nodes[1].devices[2].kind, "A100");
  EXPECT_EQ(scenario.nodes[1].devices[2].memory_bytes, std::int64_t{80} << 30);
  EXPECT_NE(scenario.nodes[0].devices[0].uuid, scenario.nodes[1].devices[0].uuid);
  ASSERT_EQ(scenario.pipeline_jobs.size(), 1);
  EXPECT_NEAR(scenario.pipeline_jobs[0].bubble_share(), 3.0 / 11, 1e-12);
  ASSERT_EQ(scenario.studies.size(), 1);
  const ScenarioStudy& study = scenario.studies[0];
  EXPECT_EQ(study.spec.name, "resnet");
  EXPECT_EQ(study.spec.stopper.name, "asha");
  EXPECT_EQ(study.arrives, minutes(5));
  EXPECT_DOUBLE_EQ(study.workload.seconds_per_unit, 20);
  EXPECT_DOUBLE_EQ(study.workload.widths.At(2), 1.8699);
  EXPECT_EQ(study.workload.start_up, seconds(30));
  EXPECT_EQ(study.workload.report_every, 3);
  EXPECT_DOUBLE_EQ(study.workload.speeds.at("H100"), 4);
  EXPECT_DOUBLE_EQ(study.curve.half_work, 5);
  EXPECT_DOUBLE_EQ(study.curve.nans, 0.02);
  EXPECT_THAT(scenario.left_out, IsEmpty());
}

TEST(ScenarioReaderTest, RefusesWhatIsNoScenario) {
  EXPECT_THAT(Bad("- a\n"), HasSubstr("s.yaml:1: expected a scenario"));
  EXPECT_THAT(Bad("nodes: {cpus: 3}\nstudies: 4\n"), HasSubstr("expected a list"));
  EXPECT_THAT(Bad(Text("[3]", "pipeline_jobs: [x]\n", " [4]\n")), HasSubstr("expected a map"));
}

TEST(ScenarioReaderTest, SuggestsTheKeyThatWasMeant) {
  EXPECT_THAT(Bad(Text("[{device: {kind: A100}}]")), HasSubstr("did you mean 'devices'?"));
  EXPECT_THAT(Bad(Text("[{cpus: 1}]", "sceanrio: x\n")),
              AllOf(StartsWith("s.yaml:2: sceanrio: unknown key"), HasSubstr("'scenario'")));
  EXPECT_THAT(Bad(Text("[{cpus: 1}]", "", R"(
  - space: {x: {float: [0, 1]}}
    objective: {minimize: loss}
    trails: 3
    budget: {max: 3}
    workload: {unit_time: 1s, strat_up: 3s, curve: {nosie: 1}}
)")),
              AllOf(HasSubstr("s.yaml:5: studies[0].trails: unknown key (did you mean 'trials'?)"),
                    HasSubstr("did you mean 'start_up'?"), HasSubstr("did you mean 'noise'?")));
}

TEST(ScenarioReaderTest, RefusesNegativeTimes) {
  const std::string message = Bad(Text("[{cpus: 4}]", "", R"(
  - space: {x: {float: [0, 1]}}
    objective: {minimize: loss}
    trials: 3
    budget: {max: 3}
    arrives: -3m
    workload: {unit_time: -1s, start_up: -2, save: -3s}
)"));
  EXPECT_THAT(message, HasSubstr("s.yaml:7: studies[0].arrives: expected a duration"));
  EXPECT_THAT(message, HasSubstr("studies[0].workload.unit_time: expected"));
  EXPECT_THAT(message, HasSubstr("studies[0].workload.start_up: expected"));
  EXPECT_THAT(message, HasSubstr("studies[0].workload.save: expected"));
  EXPECT_THAT(Bad(Text("[{cpus: 1}]",
                       "pipeline_jobs: [{stages: 2, micro_batches: 2, forward: -1ms, "
                       "backward: 0ms}]\n")),
              AllOf(HasSubstr("pipeline_jobs[0].forward"), HasSubstr("above 0")));
}

TEST(ScenarioReaderTest, AGoalNeedsAStudyThatHasIt) {
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100}}]", "goal: time-to-target\n")),
              HasSubstr("add 'stop_at"));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100}}]", "goal: error-at-deadline\n")),
              HasSubstr("add 'deadline"));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100}}]", "goal: makespna\n")),
              HasSubstr("did you mean 'makespan'?"));
}

TEST(ScenarioReaderTest, FifoIsComparedUnlessTheFileSaysOtherwise) {
  EXPECT_THAT(Good(Text()).compare, ElementsAre("fifo"));
  EXPECT_THAT(Good(Compared("policies: {lpt: {}}\n")).compare, ElementsAre("fifo"));
}

TEST(ScenarioReaderTest, WhatIsComparedMustBeAbleToRun) {
  EXPECT_THAT(Bad(Compared("compare: []\n")), HasSubstr("compare: expected at least one policy"));
  EXPECT_THAT(Bad(Compared("compare: fifo\n")), HasSubstr("compare: expected a list"));
  EXPECT_THAT(Bad(Compared("compare: [hypersched]\n")),
              HasSubstr("s.yaml:10: compare[0]: study 'plain': the policy hypersched is after"));
}

TEST(ScenarioReaderTest, AStudyThatTransfersFollowsOneThatSearchesTheSame) {
  const auto text = [](const std::string& target, const std::string& space = "lr") {
    return "nodes: [{cpus: 8}]\n"
           "defaults: {objective: {maximize: accuracy}, budget: {max: 3}, workload: {unit_time: "
           "1s}}\n"
           "studies:\n"
           "  - {study: small, space: {lr: {float: [0, 1]}}, trials: 4}\n"
           "  - {study: target, space: {" +
           space + ": {float: [0, 1]}}, " + target + "}\n";
  };
  EXPECT_TRUE(ReadScenario(text("transfer: small"), "s.yaml", "s"));
  EXPECT_THAT(Bad(text("transfer: smal")),
              HasSubstr("study 'target': transfer: expected the study 'smal', whose best trial "
                        "this study takes, found none"));
  EXPECT_THAT(Bad(text("transfer: target")), HasSubstr("expected the name of another study"));
  EXPECT_THAT(Bad(text("transfer: small", "x")), HasSubstr("expected the parameters of 'small'"));
  EXPECT_THAT(Bad(text("transfer: small, trials: 3")), HasSubstr("remove the key"));
  const std::string policies = "policies: {one: {policy: fifo, studies: {";
  Good(text("transfer: small") + policies + "target: none}}}\n");
  EXPECT_THAT(Bad(text("transfer: small") + policies + "small: none}}}\n"),
              HasSubstr("policies.one: study 'target': transfer: expected the study 'small', whose "
                        "best trial this study takes; the entry leaves it out. Leave out both or "
                        "neither"));
}

}  // namespace
}  // namespace sluice
