#include "sim/read/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/read/test_scenario_text.h"

namespace sluice {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ScenarioTest, AJobThatFitsNowhereIsNamedAndTheRestRuns) {
  const Scenario scenario = Good(Text("[{cpus: 4, devices: {kind: A100, count: 2}}]", "", R"(
  - study: wide
    space: {x: {float: [0, 1]}}
    objective: {minimize: loss}
    trials: 3
    budget: {max: 3}
    resources: {gpus: 3}
    workload: {unit_time: 1s}
  - study: fits
    space: {x: {float: [0, 1]}}
    objective: {minimize: loss}
    trials: 3
    budget: {max: 3}
    workload: {unit_time: 1s}
  - study: huge
    space: {x: {float: [0, 1]}}
    objective: {minimize: loss}
    trials: 3
    budget: {max: 3}
    resources: {gpus: 1}
    workload: {unit_time: 1s, memory: 60GB}
)"));
  EXPECT_THAT(scenario.left_out,
              ElementsAre(AllOf(StartsWith("s.yaml:3: study 'wide' fits nowhere"),
                                HasSubstr("needs 3 GPUs, and no node has more than 2")),
                          AllOf(StartsWith("s.yaml:16: study 'huge' fits nowhere"),
                                HasSubstr("60 GB of GPU memory"))));
  ASSERT_EQ(scenario.studies.size(), 1);
  EXPECT_EQ(scenario.studies[0].spec.name, "fits");
}

TEST(ScenarioTest, NothingThatFitsIsAnError) {
  EXPECT_THAT(Bad(Text("[{cpus: 4}]")),
              AllOf(StartsWith("s.yaml:3: studies[0]: study 'small' fits nowhere"),
                    HasSubstr("needs 1 GPUs, and no node has more than 0")));
}

TEST(ScenarioTest, WhatFitsNowhereDependsOnTheCluster) {
  const std::string text =
      "clusters: {one: [{devices: {kind: A100}}], none: [{cpus: 8}]}\nstudies:" +
      std::string(kStudy);
  EXPECT_TRUE(ReadScenario(text, "s.yaml", "s", "one"));
  EXPECT_THAT(ReadScenario(text, "s.yaml", "s", "none").error().message,
              HasSubstr("study 'small' fits nowhere"));
}

TEST(ScenarioTest, TheMemoryThatAStudyAsksForMustBeThere) {
  EXPECT_THAT(Bad(Working("memory: 1GB", "{gpus: 1, memory: 60GB}")),
              HasSubstr("fits nowhere: a trial needs 60 GB of GPU memory"));
}

TEST(ScenarioTest, WhatFitsOnlyOnLentDevicesFitsNowhere) {
  const std::string text = Working("memory: 15GB", "{gpus: 1}", kLending);
  EXPECT_THAT(Bad("nodes: [{cpus: 8}]" + text.substr(text.find('\n'))),
              HasSubstr("fits nowhere: a trial needs 1 GPUs, and no node has more than 0"));
}

TEST(ScenarioTest, UnderAPolicyItsKeysCountInsteadOfTheStudies) {
  const Scenario scenario = Good(Compared(R"(
policies:
  fifo: {stopper: median, budget: {max: 9}}
  exclusive: {policy: fifo, resources: {gpus: 1}, workload: {save: 2s}}
compare: [fifo, exclusive, lpt]
)"));
  EXPECT_THAT(scenario.compare, ElementsAre("fifo", "exclusive", "lpt"));
  EXPECT_THAT(LabelsOf(scenario),
              ::testing::IsSupersetOf({"fifo", "exclusive", "lpt", "fluid-dynamic"}));

  const LabelledScenario fifo = *ScenarioUnder(scenario, "fifo");
  EXPECT_EQ(fifo.policy, "fifo");
  EXPECT_EQ(fifo.differs, "{stopper: median, budget: {max: 9}}");
  EXPECT_EQ(fifo.scenario.studies[0].spec.stopper.name, "median");
  EXPECT_EQ(fifo.scenario.studies[0].spec.stopper.max_budget, 9);
  EXPECT_EQ(fifo.scenario.studies[1].spec.demand.gpus, 250);

  const LabelledScenario exclusive = *ScenarioUnder(scenario, "exclusive");
  EXPECT_EQ(exclusive.policy, "fifo");
  ASSERT_EQ(exclusive.scenario.studies.size(), 2);
  const ScenarioStudy& other = exclusive.scenario.studies[1];
  EXPECT_EQ(other.spec.name, "other");
  EXPECT_EQ(other.spec.stopper.name, "asha");
  EXPECT_EQ(other.spec.demand.cpus, 2 * kWhole);
  EXPECT_EQ(other.spec.demand.gpus, kWhole);
  EXPECT_DOUBLE_EQ(other.workload.seconds_per_unit, 3);
  EXPECT_EQ(other.workload.start_up, seconds(5));
  EXPECT_EQ(other.workload.save, seconds(2));

  const LabelledScenario lpt = *ScenarioUnder(scenario, "lpt");
  EXPECT_EQ(lpt.policy, "lpt");
  EXPECT_EQ(lpt.differs, "");
  EXPECT_EQ(lpt.scenario.studies[1].spec.demand.gpus, 250);

  EXPECT_THAT(ScenarioUnder(scenario, "exclusiv").error().message,
              AllOf(StartsWith("expected one of fifo, exclusive, lpt, "),
                    HasSubstr("(did you mean 'exclusive'?)")));
}

TEST(ScenarioTest, ConstraintsThatLeaveNothingAreFoundOnACloserLook) {
  const Scenario scenario = Good(Text("[{cpus: 4}]", "", R"(
  - space: {x: {float: [0, 1]}}
    constraints: x > 2
    objective: {minimize: loss}
    trials: 3
    budget: {max: 3}
    workload: {unit_time: 1s}
)"));
  const Status status = CheckScenario(scenario, "s.yaml");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, StartsWith("s.yaml:3: study 'study1': constraints: "));
}

}  // namespace
}  // namespace sluice
