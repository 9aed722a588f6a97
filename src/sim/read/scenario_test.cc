#include "sim/read/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <tuple>

namespace sluice {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::string_view kStudy = R"(
  - study: small
    space: {lr: {float: [1e-4, 1], log: true}}
    objective: {maximize: accuracy}
    trials: 8
    budget: {max: 9}
    resources: {cpus: 1, gpus: 1}
    workload: {unit_time: 10s}
)";

std::string Text(std::string_view nodes = "[{devices: {kind: A100, count: 4}}]",
                 std::string_view more = "", std::string_view study = kStudy) {
  return std::string("nodes: ") + std::string(nodes) + "\n" + std::string(more) +
         "studies:" + std::string(study);
}

Scenario Good(const std::string& text) {
  auto scenario = ReadScenario(text, "s.yaml", "s");
  EXPECT_TRUE(scenario.has_value()) << (scenario ? "" : scenario.error().message);
  return scenario ? *std::move(scenario) : Scenario{};
}

std::string Bad(const std::string& text) {
  const auto scenario = ReadScenario(text, "s.yaml", "s");
  EXPECT_FALSE(scenario.has_value());
  return scenario ? "" : scenario.error().message;
}

std::vector<std::string> Lines(const std::string& message) {
  std::istringstream stream(message);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(ScenarioTest, NodesAlone) {
  const auto nodes = ReadScenarioNodes(
      "clusters:\n  small: [{cpus: 2}]\n  large: [{count: 3, devices: {kind: H100, count: 2}}]\n"
      "studies: [whatever]\n",
      "c.yaml", "large");
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ(nodes->nodes.size(), 3U);
  EXPECT_EQ(nodes->cluster, "large");
  EXPECT_TRUE(nodes->studies.empty());
  EXPECT_EQ(ReadScenarioNodes("nodes: []\n", "c.yaml").error().message,
            "c.yaml:1: nodes: expected at least one node, found []");
  EXPECT_FALSE(ReadScenarioNodes("nodes: [{cpus: 2}]\n", "c.yaml", "large"));
}

TEST(ScenarioTest, ReadsAClusterAndItsStudies) {
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

TEST(ScenarioTest, SuggestsTheKeyThatWasMeant) {
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

TEST(ScenarioTest, RefusesImpossibleDevices) {
  EXPECT_THAT(Bad(Text("[{devices: {kind: A10}}]")),
              AllOf(StartsWith("s.yaml:1: nodes[0].devices.kind"), HasSubstr("did you mean")));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100, memory: -4GB}}]")),
              AllOf(HasSubstr("nodes[0].devices.memory: expected a size"), HasSubstr("-4GB")));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100, memory: 0}}]")), HasSubstr("above 0"));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100, count: 1000000}}]")), HasSubstr("10000"));
  EXPECT_THAT(Bad(Text("[{count: 9000, devices: {kind: A100, count: 9000}}]")),
              HasSubstr("at most 10000 devices"));
  EXPECT_THAT(Bad(Text("[{name: a, cpus: 1}, {name: a, cpus: 1}]")), HasSubstr("two nodes 'a'"));
}

TEST(ScenarioTest, RefusesZeroDevicesAndEmptyClusters) {
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100, count: 0}}]")),
              AllOf(HasSubstr("devices.count"), HasSubstr("found 0")));
  EXPECT_THAT(Bad(Text("[{count: 0, cpus: 1}]")), HasSubstr("nodes[0].count"));
  EXPECT_THAT(Bad(Text("[]")), HasSubstr("at least one node"));
  EXPECT_THAT(Bad(Text("[{cpus: 0}]")), HasSubstr("cores or devices"));
  EXPECT_THAT(Bad(Text("[{devices: []}]")), HasSubstr("at least one kind"));
  EXPECT_THAT(Bad("studies: []\nnodes: [{cpus: 1}]\n"), HasSubstr("at least one study"));
  EXPECT_THAT(Bad("seeds: 3\n"), AllOf(HasSubstr("nodes: expected"), HasSubstr("studies: ex")));
}

TEST(ScenarioTest, RefusesNegativeTimes) {
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

TEST(ScenarioTest, RefusesWhatCannotBeSimulated) {
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

TEST(ScenarioTest, AGoalNeedsAStudyThatHasIt) {
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100}}]", "goal: time-to-target\n")),
              HasSubstr("add 'stop_at"));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100}}]", "goal: error-at-deadline\n")),
              HasSubstr("add 'deadline"));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100}}]", "goal: makespna\n")),
              HasSubstr("did you mean 'makespan'?"));
}

constexpr std::string_view kDefaults = R"(
defaults:
  space: {lr: {float: [1e-4, 1], log: true}}
  objective: {maximize: accuracy}
  stopper: asha
  budget: {min: 1, max: 27}
  trials: 8
  resources: {cpus: 2, gpus: 0.5}
  workload: {unit_time: 10s, start_up: 5s, save: 1s}
)";

TEST(ScenarioTest, StudiesHaveTheDefaultsUnlessTheySayTheirOwn) {
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

TEST(ScenarioTest, ProblemsOfDefaultsAreSaidOnceWhereTheyAreWritten) {
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

TEST(ScenarioTest, DefaultsCountAsOftenAsTheyAreUsed) {
  std::string text = "nodes: [{cpus: 1}]\ndefaults:\n  space:\n";
  for (int i = 0; i < 2000; ++i) text += "    p" + std::to_string(i) + ": {float: [0, 1]}\n";
  text += "studies:\n";
  for (int i = 0; i < 1000; ++i) text += "  - {}\n";
  EXPECT_THAT(Bad(text), HasSubstr("studies: expected at most 1000000 values"));
}

constexpr std::string_view kTwo = R"(
  - {study: plain}
  - {study: other, workload: {unit_time: 3s}, resources: {gpus: 0.25}}
)";

std::string Compared(std::string_view policies) {
  return Text("[{devices: {kind: A100, count: 2}}]",
              std::string(kDefaults.substr(1)) + std::string(policies), kTwo);
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

TEST(ScenarioTest, PoliciesMayDifferByStudyAndLeaveSomeOut) {
  const Scenario scenario = Good(Compared(R"(
policies:
  big:
    policy: fifo
    resources: {gpus: 1}
    workload: {save: 2s}
    studies: {other: {trials: 3, workload: {unit_time: 90s}}}
  alone: {policy: lpt, studies: {plain: none}}
)"));
  const std::vector<ScenarioStudy> big = ScenarioUnder(scenario, "big")->scenario.studies;
  ASSERT_EQ(big.size(), 2);
  EXPECT_EQ(big[0].spec.trials, 8);
  EXPECT_DOUBLE_EQ(big[0].workload.seconds_per_unit, 10);
  EXPECT_EQ(big[0].workload.save, seconds(2));
  EXPECT_EQ(big[1].spec.trials, 3);
  EXPECT_EQ(big[1].spec.demand.gpus, kWhole) << "what the entry says of all";
  EXPECT_DOUBLE_EQ(big[1].workload.seconds_per_unit, 90);
  EXPECT_EQ(big[1].workload.save, seconds(2));
  EXPECT_EQ(big[1].workload.start_up, seconds(5)) << "the default";

  const std::vector<ScenarioStudy> alone = ScenarioUnder(scenario, "alone")->scenario.studies;
  ASSERT_EQ(alone.size(), 1);
  EXPECT_EQ(alone[0].spec.name, "other");
  EXPECT_EQ(ScenarioUnder(scenario, "fifo")->scenario.studies.size(), 2);
}

TEST(ScenarioTest, ProblemsOfWhatPoliciesSayOfAStudyAreSaidWhereTheyAreWritten) {
  EXPECT_THAT(
      Lines(Bad(Compared(R"(policies:
  typo: {policy: fifo, studies: {othr: none}}
  empty: {policy: fifo, studies: {plain: none, other: none}}
  odd: {policy: fifo, studies: {plain: 3, other: some}}
  list: {policy: fifo, studies: [plain]}
  space: {policy: fifo, studies: {plain: {space: {x: {float: [0, 1]}}}}}
  inner: {policy: fifo, studies: {plain: {policy: lpt}}}
  curve: {policy: fifo, studies: {plain: {workload: {curve: hypersched}}}}
  key: {policy: fifo, studies: {plain: {trails: 3}}}
  value: {policy: fifo, studies: {plain: {trials: some}}}
  wide: {policy: fifo, studies: {other: {resources: {gpus: 3}}}}
)"))),
      ElementsAre(
          StartsWith("s.yaml:11: policies.typo.studies.othr: expected a study of the scenario, "
                     "plain, other, found 'othr' (did you mean 'other'?)"),
          StartsWith("s.yaml:12: policies.empty: expected a study that it does not leave out"),
          StartsWith(
              "s.yaml:13: policies.odd.studies.plain: expected keys of that study, or 'none' "
              "to leave it out, found 3"),
          StartsWith("s.yaml:13: policies.odd.studies.other: expected keys of that study, or"),
          StartsWith("s.yaml:14: policies.list.studies: expected a map"),
          StartsWith("s.yaml:15: policies.space.studies.plain.space: expected what policies may "
                     "differ in, sampler, "),
          StartsWith("s.yaml:16: policies.inner.studies.plain.policy: unknown key"),
          StartsWith("s.yaml:17: policies.curve.studies.plain.workload.curve: expected the same"),
          StartsWith("s.yaml:18: policies.key.studies.plain.trails: unknown key (did you mean "
                     "'trials'?)"),
          StartsWith("s.yaml:19: policies.value.studies.plain.trials: expected a whole number"),
          StartsWith("s.yaml:20: policies.wide.studies.other: study 'other' fits nowhere")));
}

TEST(ScenarioTest, FifoIsComparedUnlessTheFileSaysOtherwise) {
  EXPECT_THAT(Good(Text()).compare, ElementsAre("fifo"));
  EXPECT_THAT(Good(Compared("policies: {lpt: {}}\n")).compare, ElementsAre("fifo"));
}

TEST(ScenarioTest, ProblemsOfPoliciesAreSaidOnceWhereTheyAreWritten) {
  EXPECT_THAT(
      Lines(Bad(Compared(R"(policies:
  fifi: {trials: 3}
  fifo: {policy: lpt}
  own: {policy: fluid}
  lpt: {stopper: ahsa, budget: {min: 100}}
  space: {policy: fifo, space: {x: {float: [0, 1]}}}
  seed: {policy: fifo, seed: 3, workload: {curve: hypersched}}
  trails: {policy: fifo, trails: 3}
  "a,b": {policy: fifo}
  list: [fifo]
  wide: {policy: fifo, resources: {gpus: 3}}
  long: {policy: fifo, budget: {max: 100000000}}
  hypersched: {}
  late: {policy: hypersched}
compare: [fifo, fifo, hypersack, 3]
)"))),
      ElementsAre(
          StartsWith("s.yaml:11: policies.fifi: expected the name of a policy, or a label with one "
                     "inside, found neither (did you mean 'fifo'?); add 'policy: fifo'"),
          StartsWith("s.yaml:12: policies.fifo.policy: expected fifo, since"),
          StartsWith("s.yaml:13: policies.own.policy: expected one of fifo"),
          StartsWith("s.yaml:14: policies.lpt.budget: expected min <= max, found {min: 100, max: "),
          StartsWith("s.yaml:14: policies.lpt.stopper: expected one of"),
          StartsWith("s.yaml:15: policies.space.space: expected what policies may differ in"),
          StartsWith("s.yaml:16: policies.seed.seed: expected what policies may differ in"),
          StartsWith("s.yaml:16: policies.seed.workload.curve: expected the same curve"),
          StartsWith("s.yaml:17: policies.trails.trails: unknown key (did you mean 'trials'?)"),
          StartsWith("s.yaml:18: policies.a,b: expected a name"),
          StartsWith("s.yaml:19: policies.list: expected a map"),
          StartsWith("s.yaml:20: policies.wide: study 'plain' fits nowhere: a trial needs 3 GPUs"),
          StartsWith("s.yaml:20: policies.wide: study 'other' fits nowhere: a trial needs 3 GPUs"),
          StartsWith("s.yaml:21: policies.long.budget: expected at most 1000000 reports"),
          StartsWith("s.yaml:22: policies.hypersched: study 'plain': the policy hypersched is"),
          StartsWith("s.yaml:22: policies.hypersched: study 'other': the policy hypersched is"),
          StartsWith("s.yaml:23: policies.late.policy: the policy hypersched is after"),
          StartsWith("s.yaml:24: compare[1]: expected each policy once, found fifo"),
          StartsWith(
              "s.yaml:24: compare[2]: expected one of lpt, a,b, wide, long, hypersched, late"),
          StartsWith("s.yaml:24: compare[3]: expected one of ")));
}

TEST(ScenarioTest, WhatIsComparedMustBeAbleToRun) {
  EXPECT_THAT(Bad(Compared("compare: []\n")), HasSubstr("compare: expected at least one policy"));
  EXPECT_THAT(Bad(Compared("compare: fifo\n")), HasSubstr("compare: expected a list"));
  EXPECT_THAT(Bad(Compared("compare: [hypersched]\n")),
              HasSubstr("s.yaml:10: compare[0]: study 'plain': the policy hypersched is after"));
}

TEST(ScenarioTest, WhatIsWrongWithAStudyIsSaidOnceWhateverThePolicies) {
  EXPECT_THAT(
      Lines(Bad(Text("[{devices: {kind: A100}}]", "policies: {fifo: {}, lpt: {}}\n", R"(
  - space: {x: {float: [0, 1]}}
    objective: {minimize: loss}
    budget: {max: 3}
    stopper: ahsa
    workload: {unit_time: never}
)"))),
      ElementsAre(StartsWith("s.yaml:4: studies[0].trials: expected how many trials"),
                  StartsWith("s.yaml:7: studies[0].stopper: expected one of"),
                  StartsWith("s.yaml:8: studies[0].workload.unit_time: expected a duration")));
}

TEST(ScenarioTest, PoliciesCountAsOftenAsTheyAreUsed) {
  const auto with = [](int policies, int studies) {
    std::string text = "nodes: [{cpus: 1}]\npolicies:\n";
    for (int i = 0; i < policies; ++i) text += "  p" + std::to_string(i) + ": {policy: fifo}\n";
    text += "studies:\n";
    for (int i = 0; i < studies; ++i) text += "  - {trials: 3, retries: 1, seed: 3}\n";
    return text;
  };
  EXPECT_THAT(Bad(with(100, 1000)), HasSubstr("studies: expected at most 1000000 values"));
  EXPECT_THAT(Bad(with(101, 1)), HasSubstr("policies: expected at most 100 entries, found 101"));
}

constexpr std::string_view kClusters = R"(clusters:
  small: [{name: a, devices: {kind: A100, count: 2}}]
  mixed:
    - {name: h, devices: {kind: H100, count: 4}}
    - {name: a, count: 2, devices: {kind: A100}}
studies:
  - study: small
    space: {lr: {float: [1e-4, 1], log: true}}
    objective: {maximize: accuracy}
    trials: 8
    budget: {max: 9}
    resources: {cpus: 1, gpus: 1}
    workload: {unit_time: 10s, profiled: true, busy: {A100: 0.3, H100: 0.2}, memory: 4GB}
)";

TEST(ScenarioTest, OneOfSeveralClustersIsChosenByName) {
  const auto on = [](std::string_view cluster) {
    return *ReadScenario(kClusters, "s.yaml", "s", cluster);
  };
  const Scenario first = on("");
  EXPECT_EQ(first.cluster, "small");
  EXPECT_THAT(first.clusters, ElementsAre("small", "mixed"));
  ASSERT_EQ(first.nodes.size(), 1);
  EXPECT_EQ(first.nodes[0].devices.size(), 2);
  EXPECT_EQ(first.studies[0].spec.profile.size(), 1) << "of the kinds that are there";

  const Scenario mixed = on("mixed");
  EXPECT_EQ(mixed.cluster, "mixed");
  ASSERT_EQ(mixed.nodes.size(), 3);
  EXPECT_EQ(mixed.nodes[0].devices.size(), 4);
  const StudySpec& spec = mixed.studies[0].spec;
  ASSERT_EQ(spec.profile.size(), 2);
  EXPECT_EQ(NeedOn(spec.demand, "A100").gpus, 300);
  EXPECT_EQ(NeedOn(spec.demand, "H100").gpus, 200);
  EXPECT_EQ(spec.demand.memory_bytes, 4'000'000'000);
}

TEST(ScenarioTest, AClusterThatIsNotThereIsNamed) {
  EXPECT_EQ(ReadScenario(kClusters, "s.yaml", "s", "mixd").error().message,
            "s.yaml: expected a cluster of its small, mixed, found 'mixd' (did you mean 'mixed'?)");
  EXPECT_EQ(ReadScenario(Text(), "s.yaml", "s", "small").error().message,
            "s.yaml: expected 'clusters' to choose 'small' from, found none: it has one list of "
            "'nodes'");
}

TEST(ScenarioTest, MistakesOfEveryClusterAreSaid) {
  const std::string studies = "studies:" + std::string(kStudy);
  EXPECT_THAT(Lines(Bad(R"(clusters:
  good: [{devices: {kind: A100}}]
  odd: [{devices: {kind: A10}}]
  empty: []
  "a,b": [{devices: {kind: A100}}]
  twice: [{name: a, cpus: 1}, {name: a, cpus: 1}]
)" + studies)),
              ElementsAre(StartsWith("s.yaml:3: clusters.odd[0].devices.kind: expected one of"),
                          StartsWith("s.yaml:4: clusters.empty: expected at least one node"),
                          StartsWith("s.yaml:5: clusters.a,b: expected a name"),
                          StartsWith("s.yaml:6: clusters.twice: expected names of their own")));
  EXPECT_THAT(Bad("clusters: {}\n" + studies),
              HasSubstr("clusters: expected at least one cluster"));
  EXPECT_THAT(Bad("clusters: [3]\n" + studies), HasSubstr("clusters: expected a map"));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100}}]", "clusters: {a: [{cpus: 1}]}\n")),
              StartsWith("s.yaml:1: nodes: expected either 'nodes' or 'clusters', found"));
}

TEST(ScenarioTest, WhatFitsNowhereDependsOnTheCluster) {
  const std::string text =
      "clusters: {one: [{devices: {kind: A100}}], none: [{cpus: 8}]}\nstudies:" +
      std::string(kStudy);
  EXPECT_TRUE(ReadScenario(text, "s.yaml", "s", "one"));
  EXPECT_THAT(ReadScenario(text, "s.yaml", "s", "none").error().message,
              HasSubstr("study 'small' fits nowhere"));
}

// A scenario with a single study, which has this workload beside its unit time.
std::string Working(std::string_view workload, std::string_view resources = "{gpus: 1}",
                    std::string_view more = "") {
  return Text("[{devices: {kind: A100, count: 4}}]", more,
              R"(
  - study: small
    space: {lr: {float: [1e-4, 1], log: true}}
    objective: {maximize: accuracy}
    trials: 8
    budget: {max: 9}
    resources: )" +
                  std::string(resources) + "\n    workload: {unit_time: 10s, " +
                  std::string(workload) + "}\n");
}

TEST(ScenarioTest, ReadsWhatTrialsDoToDevices) {
  const Scenario scenario = Good(Working(
      "busy: {A100: 0.4, V100: 0.7}, bandwidth: 0.25, fusion: [[1, 1], [8, 4]], segment: 2ms, "
      "memory: 2GB",
      "{gpus: 1, memory: 3GB}\n    fuse: {most: 8, memory: 500MB}"));
  const WorkloadSpec& work = scenario.studies[0].workload;
  EXPECT_DOUBLE_EQ(work.busy, 0.4);
  EXPECT_DOUBLE_EQ(TrueSpeed(work).Busy("V100", 1), 0.7);
  EXPECT_DOUBLE_EQ(work.bandwidth, 0.25);
  EXPECT_DOUBLE_EQ(work.fusion.At(8), 4);
  EXPECT_EQ(work.segment, std::chrono::milliseconds(2));
  EXPECT_EQ(work.fused_bytes, 500'000'000);
  EXPECT_FALSE(work.profiled);
  EXPECT_THAT(scenario.studies[0].spec.profile, IsEmpty());
  EXPECT_DOUBLE_EQ(Good(Working("fusion: hydro")).studies[0].workload.fusion.At(10), 6.5);
}

TEST(ScenarioTest, ChecksWhatTrialsDoToDevices) {
  EXPECT_THAT(Bad(Working("busy: {H100: 0.4}")),
              HasSubstr("workload.busy: expected a part of A100 too, which times are meant for"));
  EXPECT_THAT(Bad(Working("busy: {A10: 0.4, A100: 0.2}")), HasSubstr("did you mean 'A100'?"));
  EXPECT_THAT(Bad(Working("busy: {A100: 0}")),
              HasSubstr("workload.busy.A100: expected a number from 0.001 to 1, found 0"));
  EXPECT_THAT(Bad(Working("busy: {A100: 0.4}", "{cpus: 1}")),
              HasSubstr("workload.busy: expected one part of the cores, since the trials use no"));
  EXPECT_THAT(Bad(Working("bandwidth: 2")),
              HasSubstr("workload.bandwidth: expected a number from"));
  EXPECT_THAT(Bad(Working("segment: long")), HasSubstr("workload.segment: expected a duration"));
  EXPECT_THAT(Bad(Working("fusion: hydra")), HasSubstr("did you mean 'hydro'?"));
  EXPECT_THAT(Bad(Working("fusion: [[2, 2]]")),
              HasSubstr("workload.fusion: expected a first point of [1, 1], found [[2, 2]]; "
                        "speed-ups are beside one trial"));
  EXPECT_THAT(
      Bad(Working("fusion: [3]")),
      HasSubstr("expected a number of trials and their speed-up, as in [10, 6.5], found 3"));
  EXPECT_THAT(Bad(Working("fusion: [[1, 1], [8, 0.5]]")), HasSubstr("never falls"));
  EXPECT_THAT(Bad(Working("profiled: perhaps")), HasSubstr("workload.profiled: expected true or"));
  for (const char* resources : {"{cpus: 1}", "{gpus: 2}", "{gpus: [1, 4]}"}) {
    EXPECT_THAT(
        Bad(Working("profiled: true", resources)),
        HasSubstr("workload.profiled: expected it of trials on one GPU or a share of it, found "
                  "true; remove the key"))
        << resources;
  }
}

TEST(ScenarioTest, AProfileIsEnoughForPoliciesThatNeedToKnowMemory) {
  constexpr std::string_view kPacked = "policies: {packed: {policy: hypersack-wfd}}\n";
  const Scenario scenario = Good(Working("profiled: true, memory: 4GB", "{gpus: 1}", kPacked));
  EXPECT_EQ(ScenarioUnder(scenario, "packed")->scenario.studies[0].spec.demand.memory_bytes,
            4'000'000'000);
  EXPECT_TRUE(
      ReadScenario(Working("profiled: true, memory: 4GB", "{gpus: 1}\n    policy: hypersack-ff"),
                   "s.yaml", "s"));
  EXPECT_THAT(
      Bad(Working("memory: 4GB", "{gpus: 1}", kPacked)),
      StartsWith("s.yaml:2: policies.packed.policy: the policy hypersack-wfd packs trials"));
  EXPECT_THAT(Bad(Working("profiled: true", "{gpus: 1}", "compare: [hydro]\n")),
              StartsWith("s.yaml:2: compare[0]: study 'small': the policy hydro packs trials"));
}

TEST(ScenarioTest, PoliciesMayDifferInWhatIsFused) {
  const Scenario scenario = Good(Working("memory: 1GB", "{gpus: 1, memory: 1GB}\n    fuse: 8",
                                         "policies: {alone: {policy: hydro, fuse: 1}}\n"));
  EXPECT_EQ(scenario.studies[0].spec.demand.fused_most, 8);
  EXPECT_EQ(ScenarioUnder(scenario, "alone")->scenario.studies[0].spec.demand.fused_most, 1);
}

TEST(ScenarioTest, TheMemoryThatAStudyAsksForMustBeThere) {
  EXPECT_THAT(Bad(Working("memory: 1GB", "{gpus: 1, memory: 60GB}")),
              HasSubstr("fits nowhere: a trial needs 60 GB of GPU memory"));
}

constexpr std::string_view kLending =
    "pipeline_jobs: [{name: gpt, stages: 2, replicas: 3, micro_batches: 3, forward: 1ms, backward: "
    "1ms, free_memory: [10GB, 20GB], lends: 3, cpus: 2, gate: 0.5ms}]\n";

TEST(ScenarioTest, DevicesThatAPipelineJobLendsAreANodeOfTheirOwn) {
  const Scenario scenario = Good(Working("memory: 1GB", "{gpus: 1}", kLending));
  ASSERT_EQ(scenario.nodes.size(), 2);
  const Node& lent = scenario.nodes[1];
  EXPECT_EQ(lent.name, "gpt");
  EXPECT_EQ(lent.cpus, 6 * kWhole);
  ASSERT_EQ(lent.devices.size(), 3);
  // A stage each, then the next replica's: two of stage 0, one of stage 1, idle for 2 ms of 8.
  EXPECT_EQ(lent.devices[0].memory_bytes, 10'000'000'000);
  EXPECT_EQ(lent.devices[1].memory_bytes, 20'000'000'000);
  EXPECT_EQ(lent.devices[2].memory_bytes, 10'000'000'000);
  EXPECT_FALSE(scenario.nodes[0].devices[0].IsLent());
  for (const Device& device : lent.devices) EXPECT_EQ(device.open, 250);
  ASSERT_EQ(scenario.lenders.size(), 3);
  EXPECT_EQ(scenario.lenders.at(lent.devices[1].uuid).stage, 1);
  EXPECT_EQ(scenario.pipeline_jobs[0].spec().gate, std::chrono::microseconds(500));
}

TEST(ScenarioTest, ChecksWhatAPipelineJobLends) {
  const auto lending = [](std::string_view keys) {
    return Bad(
        Working("memory: 1GB", "{gpus: 1}",
                "pipeline_jobs: [{stages: 2, micro_batches: 3, forward: 1ms, backward: 1ms, " +
                    std::string(keys) + "}]\n"));
  };
  EXPECT_THAT(
      lending("lends: 3"),
      StartsWith("s.yaml:2: pipeline_jobs[0].lends: expected at most its 2 devices, a stage "
                 "each, found 3; add 'replicas: 8' if it has more"));
  EXPECT_THAT(lending("lends: -1"), HasSubstr("pipeline_jobs[0].lends: expected a whole number"));
  EXPECT_THAT(lending("replicas: 0"), HasSubstr("pipeline_jobs[0].replicas: expected a whole"));
  EXPECT_THAT(lending("cpus: -2"), HasSubstr("pipeline_jobs[0].cpus: expected a number from 0"));
  EXPECT_THAT(lending("gate: -1ms"), HasSubstr("pipeline_jobs[0].gate: expected a duration"));
  EXPECT_THAT(lending("replicas: 10000, lends: 10000"), HasSubstr("at most 10000 devices in all"));
  EXPECT_THAT(lending("free_memory: 100GB"), HasSubstr("at most what the A100 has"));
  EXPECT_THAT(lending("lend: 1"), HasSubstr("did you mean 'lends'?"));
}

TEST(ScenarioTest, PipelineJobsHaveNamesOfTheirOwn) {
  const std::string job = "{name: gpt, stages: 1, micro_batches: 1, forward: 1ms, backward: 1ms}";
  EXPECT_THAT(
      Bad(Working("memory: 1GB", "{gpus: 1}", "pipeline_jobs: [" + job + ", " + job + "]\n")),
      StartsWith("s.yaml:2: pipeline_jobs[1]: expected a name that no other job or node "
                 "has, found 'gpt'"));
}

TEST(ScenarioTest, WhoRunsInBubblesGetsOnThere) {
  // Bubbles of 1 ms, half of which is left by the gate.
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

TEST(ScenarioTest, WhatFitsOnlyOnLentDevicesFitsNowhere) {
  const std::string text = Working("memory: 15GB", "{gpus: 1}", kLending);
  EXPECT_THAT(Bad("nodes: [{cpus: 8}]" + text.substr(text.find('\n'))),
              HasSubstr("fits nowhere: a trial needs 1 GPUs, and no node has more than 0"));
}

TEST(ScenarioTest, ReadsWhenNodesGoDown) {
  const Scenario scenario = Good(
      Working("memory: 1GB", "{gpus: 1}",
              std::string(kLending) + "failures: [{node: gpt, at: 2h, for: 30m}, {node: node1, "
                                      "at: 1m, for: 1s}, {node: gpt, at: 1h, for: 59m}]\n"));
  ASSERT_EQ(scenario.failures.size(), 3);
  EXPECT_EQ(scenario.failures[0].node, NodeId(2));
  EXPECT_EQ(scenario.failures[0].at, minutes(120));
  EXPECT_EQ(scenario.failures[0].lasts, minutes(30));
  EXPECT_EQ(scenario.failures[1].node, NodeId(1));
}

TEST(ScenarioTest, ChecksWhenNodesGoDown) {
  EXPECT_THAT(
      Lines(Bad(Text("[{name: a, devices: {kind: A100}}, {name: big, cpus: 1}]", R"(failures:
  - {node: bug, at: 1h, for: 1h}
  - {node: a, at: 0s, for: 1h}
  - {node: a, at: 1h, for: 0s}
  - {node: a, at: 1h}
  - {at: 1h, for: -1h}
  - {node: a, when: 1h, for: 1h}
  - {node: a, at: 4h, for: 1h}
  - {node: a, at: 3h, for: 2h}
  - {node: big, at: 3h, for: 1h}
  - {node: big, at: 4h, for: 1h}
  - a
)"))),
      ElementsAre(
          StartsWith("s.yaml:3: failures[0].node: expected one of a, big, found bug (did you mean"),
          StartsWith("s.yaml:4: failures[1].at: expected when it goes down, after the beginning"),
          StartsWith("s.yaml:5: failures[2].for: expected how long it is down, above 0, found 0s"),
          StartsWith("s.yaml:6: failures[3].for: expected how long it is down, found nothing"),
          StartsWith("s.yaml:7: failures[4].node: expected the name of the node"),
          StartsWith("s.yaml:7: failures[4].for: expected a duration"),
          StartsWith("s.yaml:8: failures[5].when: unknown key"),
          StartsWith("s.yaml:8: failures[5].at: expected when it goes down"),
          StartsWith("s.yaml:10: failures[7]: expected a node to be up for a while before it goes"),
          StartsWith("s.yaml:12: failures[9]: expected a node to be up for a while"),
          StartsWith("s.yaml:13: failures[10]: expected a map")));
}

TEST(ScenarioTest, NodesOfOtherClustersGoDownThere) {
  const std::string failures = "failures: [{node: h, at: 1h, for: 1h}]\n";
  const std::string text = failures + std::string(kClusters);
  EXPECT_THAT(ReadScenario(text, "s.yaml", "s", "small")->failures, IsEmpty());
  EXPECT_THAT(ReadScenario(text, "s.yaml", "s", "mixed")->failures, ::testing::SizeIs(1));
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

TEST(ScenarioTest, RefusesWhatIsNoScenario) {
  EXPECT_THAT(Bad("- a\n"), HasSubstr("s.yaml:1: expected a scenario"));
  EXPECT_THAT(Bad("nodes: {cpus: 3}\nstudies: 4\n"), HasSubstr("expected a list"));
  EXPECT_THAT(Bad(Text("[3]", "pipeline_jobs: [x]\n", " [4]\n")), HasSubstr("expected a map"));
}

TEST(ScenarioTest, WhoTransfersFollowsAStudyThatSearchesTheSame) {
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
  EXPECT_THAT(Bad(text("transfer: smal")), HasSubstr("study 'target': transfer: expected a study"));
  EXPECT_THAT(Bad(text("transfer: target")), HasSubstr("expected the name of another study"));
  EXPECT_THAT(Bad(text("transfer: small", "x")), HasSubstr("expected the parameters of 'small'"));
  EXPECT_THAT(Bad(text("transfer: small, trials: 3")), HasSubstr("remove the key"));
  const std::string policies = "policies: {one: {policy: fifo, studies: {";
  Good(text("transfer: small") + policies + "target: none}}}\n");
  EXPECT_THAT(Bad(text("transfer: small") + policies + "small: none}}}\n"),
              HasSubstr("policies.one: study 'target': transfer: expected a study 'small' to take "
                        "the best of, found it left out"));
}

}  // namespace
}  // namespace sluice
