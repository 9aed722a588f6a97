// Nodes of a scenario that go down and come back.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/policy.h"
#include "sim/simulation.h"
#include "sim/test_simulation.h"

namespace sluice {
namespace {

using std::chrono::seconds;

SimulationResult PlayedText(const std::string& text, const std::string& policy = "fifo") {
  return Played(Read(text), policy);
}

// Nodes n1, n2, ... with one device each. A trial starts up for 3 s and has four units of 10 s.
std::string FailingWorld(int nodes, int trials, const std::string& failures,
                         const std::string& more = "") {
  return fmt::format(R"(nodes: [{{name: n, count: {}, devices: {{kind: A100}}}}]
failures: {}
studies:
  - study: a
    space: {{x: {{float: [0, 1]}}}}
    objective: {{maximize: accuracy}}
    sampler: random
    budget: {{max: 4}}
    resources: {{gpus: 1}}
    retries: 0
    trials: {}
    workload: {{unit_time: 10s, start_up: 3s, save: 1s, restore: 2s}}
{})",
                     nodes, failures, trials, more);
}

int Complete(const StudyResult& study) { return Count(study, TrialState::kComplete); }

TEST(SimulationFailuresTest, WhatRanThereBeginsAgainWhenTheNodeIsBack) {
  // The node goes down at 23 s and is back at 60 s. Then the trial begins from the start: 3 s to
  // start up, 40 s of work and 1 s to save.
  const auto result = PlayedText(FailingWorld(1, 1, "[{node: n1, at: 23s, for: 37s}]"));
  EXPECT_EQ(result.end, Time(seconds(60 + 44)));
  EXPECT_EQ(Complete(result.studies[0]), 1) << "it is no failure of the trial's";
  EXPECT_DOUBLE_EQ(result.usage.device_seconds[0], 6);
  EXPECT_DOUBLE_EQ(result.usage.device_seconds[1], 60);
}

TEST(SimulationFailuresTest, ItGoesElsewhereWhereThereIsRoom) {
  const auto result = PlayedText(FailingWorld(2, 1, "[{node: n1, at: 23s, for: 1h}]"));
  EXPECT_EQ(result.end, Time(seconds(23 + 44)));
  EXPECT_EQ(result.usage.intervals.back().row, 1U);
}

TEST(SimulationFailuresTest, NoTrialRunsOnANodeThatIsDown) {
  const std::string failures = "[{node: n1, at: 60s, for: 2m}, {node: n2, at: 200s, for: 30s}]";
  const auto result = PlayedText(FailingWorld(2, 9, failures));
  EXPECT_EQ(Complete(result.studies[0]), 9);
  for (const Interval& interval : result.usage.intervals) {
    const Time from(seconds(interval.row == 0 ? 60 : 200));
    const Time to(seconds(interval.row == 0 ? 180 : 230));
    EXPECT_TRUE(interval.end <= from || interval.begin >= to);
  }
}

TEST(SimulationFailuresTest, WhatWasSavedBeforeIsNotLost) {
  const std::string text =
      FailingWorld(1, 3, "[{node: n1, at: 21s, for: 9s}]", "    stopper: asha-promotion\n");
  const auto result = PlayedText(text);
  const auto calm = PlayedText(FailingWorld(1, 3, "[]", "    stopper: asha-promotion\n"));
  // The first trial's rung is saved after 14 s. The second trial has started up (3 s) and loses 4 s
  // of work.
  EXPECT_DOUBLE_EQ(result.usage.device_seconds[1], calm.usage.device_seconds[1] + 4);
}

TEST(SimulationFailuresTest, ABundleIsLostAsAWhole) {
  const std::string text =
      R"(nodes: [{name: n, count: 2, devices: {kind: A100}}]
failures: [{node: n1, at: 50s, for: 10m}]
studies:
  - space: {x: {float: [0, 1]}}
    objective: {maximize: accuracy}
    budget: {max: 9}
    trials: 12
    resources: {gpus: 1, memory: 2GB}
    fuse: {most: 8, memory: 1GB}
    workload: {unit_time: 10s, memory: 2GB}
)";
  const auto result = PlayedText(text, "hydro");
  EXPECT_EQ(Complete(result.studies[0]), 12);
  EXPECT_EQ(Count(result.studies[0], TrialState::kFailed), 0);
}

TEST(SimulationFailuresTest, EveryPolicyEndsAlthoughNodesFail) {
  for (const std::string& policy : PolicyNames()) {
    for (const std::string stopper : {"none", "asha", "hyperband", "pbt", "pbt-async"}) {
      const std::string text = R"(
nodes: [{name: n, count: 3, cpus: 64, devices: {kind: A100, count: 2}}]
pipeline_jobs:
  - {name: gpt, stages: 4, micro_batches: 8, forward: 12ms, backward: 24ms, free_memory: 8GiB,
     lends: 3}
failures:
  - {node: n1, at: 3m, for: 20m}
  - {node: n2, at: 10m, for: 5m}
  - {node: gpt, at: 12m, for: 5m}
  - {node: n3, at: 14m, for: 10m}
  - {node: n2, at: 40m, for: 3m}
defaults:
  space: {x: {float: [0, 1]}}
  objective: {maximize: accuracy}
  budget: {max: 27}
  deadline: 1d
  retries: 0
  workload: {unit_time: 10s, start_up: 3s, save: 1s, restore: 1s, busy: 0.4, memory: 2GB}
studies:
  - {study: wide, trials: 30, resources: {gpus: [0.5, 2], memory: 2GB},
     workload: {widths: resnet50}}
  - study: light
    trials: 30
    arrives: 5m
    resources: {gpus: 1, memory: 2GB}
    fuse: {most: 8, memory: 1GB}
    stopper: )" + stopper + "\n";
      const auto result = PlayedText(text, policy);
      for (const StudyResult& study : result.studies) {
        EXPECT_EQ(study.finish, Finish::kTrials) << policy << " " << stopper;
        EXPECT_EQ(Count(study, TrialState::kFailed), 0) << policy << " " << stopper;
      }
    }
  }
}

}  // namespace
}  // namespace sluice
