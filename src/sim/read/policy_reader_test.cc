#include "sim/read/policy_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/read/test_scenario_text.h"

namespace sluice {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(PolicyReaderTest, PoliciesMayDifferByStudyAndLeaveSomeOut) {
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

TEST(PolicyReaderTest, PoliciesMayDifferInWhatIsFused) {
  const Scenario scenario = Good(Working("memory: 1GB", "{gpus: 1, memory: 1GB}\n    fuse: 8",
                                         "policies: {alone: {policy: hydro, fuse: 1}}\n"));
  EXPECT_EQ(scenario.studies[0].spec.demand.fused_most, 8);
  EXPECT_EQ(ScenarioUnder(scenario, "alone")->scenario.studies[0].spec.demand.fused_most, 1);
}

TEST(PolicyReaderTest, AProfileIsEnoughForPoliciesThatNeedToKnowMemory) {
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

TEST(PolicyReaderTest, ProblemsOfWhatPoliciesSayOfAStudyAreSaidWhereTheyAreWritten) {
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
          StartsWith(
              "s.yaml:12: policies.empty: expected an entry that leaves at least one study to run"),
          StartsWith(
              "s.yaml:13: policies.odd.studies.plain: expected keys of that study, or 'none' "
              "to leave it out, found 3"),
          StartsWith("s.yaml:13: policies.odd.studies.other: expected keys of that study, or"),
          StartsWith("s.yaml:14: policies.list.studies: expected a map"),
          StartsWith("s.yaml:15: policies.space.studies.plain.space: expected a key that may "
                     "differ between policies, sampler, "),
          StartsWith("s.yaml:16: policies.inner.studies.plain.policy: unknown key"),
          StartsWith("s.yaml:17: policies.curve.studies.plain.workload.curve: expected the same"),
          StartsWith("s.yaml:18: policies.key.studies.plain.trails: unknown key (did you mean "
                     "'trials'?)"),
          StartsWith("s.yaml:19: policies.value.studies.plain.trials: expected a whole number"),
          StartsWith("s.yaml:20: policies.wide.studies.other: study 'other' fits nowhere")));
}

TEST(PolicyReaderTest, ProblemsOfPoliciesAreSaidOnceWhereTheyAreWritten) {
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
          StartsWith("s.yaml:15: policies.space.space: expected a key that may differ between"),
          StartsWith("s.yaml:16: policies.seed.seed: expected a key that may differ between"),
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

TEST(PolicyReaderTest, WhatIsWrongWithAStudyIsSaidOnceWhateverThePolicies) {
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

TEST(PolicyReaderTest, PoliciesCountAsOftenAsTheyAreUsed) {
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

}  // namespace
}  // namespace sluice
