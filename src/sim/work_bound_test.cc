#include "sim/work_bound.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "policy/policy.h"
#include "sim/metrics.h"
#include "sim/test_simulation.h"

namespace sluice {
namespace {

// A study in one line; `more` has further keys of it.
std::string Brief(const std::string& workload, const std::string& more,
                  const std::string& name = "a") {
  return fmt::format(
      "  - {{study: {}, space: {{lr: {{float: [0, 1]}}}}, objective: {{maximize: accuracy}}, "
      "sampler: random, workload: {{{}}}, {}}}\n",
      name, workload, more);
}

// The bound of a scenario in seconds; 0 if there is none.
double BoundOf(const std::string& world) {
  const Scenario scenario = Read(world);
  return WorkBound(scenario, Played(scenario)).value_or(Bound{}).seconds;
}

TEST(WorkBoundTest, SharesThatFillTheDevices) {
  // 8 trials of 40 s, each on half a device, keep two devices busy for 80 s. Starting up and saving
  // do not count.
  EXPECT_NEAR(BoundOf(World(Brief("unit_time: 10s, busy: 0.5, start_up: 5s, save: 1s",
                                  "trials: 8, budget: {max: 4}, resources: {gpus: 0.5}"))),
              80, 1e-6);
  // With a share of a quarter, each trial takes twice as long.
  EXPECT_NEAR(BoundOf(World(Brief("unit_time: 10s, busy: 0.5",
                                  "trials: 8, budget: {max: 4}, resources: {gpus: 0.25}"))),
              80, 1e-6);
  // Two trials fit into a device's memory.
  EXPECT_NEAR(BoundOf(World(Brief("unit_time: 10s, busy: 0.1, memory: 20GiB",
                                  "trials: 8, budget: {max: 4}, resources: {gpus: 0.1, memory: "
                                  "20GiB}"))),
              80, 1e-6);
  // Four trials on one device want twice its bandwidth.
  EXPECT_NEAR(BoundOf(World(Brief("unit_time: 10s, busy: 0.25, bandwidth: 0.5",
                                  "trials: 8, budget: {max: 4}, resources: {gpus: 0.25}"))),
              80, 1e-6);
}

TEST(WorkBoundTest, KindsByTheirTrueSpeeds) {
  // 6 trials of 30 s, on one device of speed 1 and one device of speed 2.
  const std::string devices = "[{kind: A100}, {kind: H100}]";
  EXPECT_NEAR(BoundOf(World(Brief("unit_time: 10s, speeds: {H100: 2}",
                                  "trials: 6, budget: {max: 3}, resources: {gpus: 1}"),
                            devices)),
              60, 1e-6);
  // By its profile a trial takes half of the A100, or a quarter of the H100.
  EXPECT_NEAR(BoundOf(World(Brief("unit_time: 10s, speeds: {H100: 2}, busy: {A100: 0.5, H100: "
                                  "0.25}, profiled: true",
                                  "trials: 60, budget: {max: 3}, resources: {gpus: 1}"),
                            devices)),
              1800.0 / (2 + 8), 1e-6);
  // A single trial runs on its fastest device.
  EXPECT_NEAR(BoundOf(World(Brief("unit_time: 10s, speeds: {H100: 2}",
                                  "trials: 1, budget: {max: 3}, resources: {gpus: 1}"),
                            devices)),
              15, 1e-6);
}

TEST(WorkBoundTest, ElasticTrialsAtTheirBest) {
  EXPECT_NEAR(BoundOf(World(Brief("unit_time: 10s, widths: linear",
                                  "trials: 1, budget: {max: 8}, resources: {gpus: [1, 4]}"),
                            "{kind: A100, count: 4}")),
              20, 1e-6);
  // Two trials share a device, and each is as fast as alone.
  EXPECT_NEAR(BoundOf(World(Brief("unit_time: 10s, busy: 0.5",
                                  "trials: 8, budget: {max: 4}, resources: {gpus: [0.5, 2]}"))),
              80, 1e-6);
  // A trial is 1.5 times as fast on two cores, and 2 times as fast on four. It is best to give each
  // of the two trials two cores.
  EXPECT_NEAR(BoundOf("nodes: [{cpus: 4}]\nstudies:\n" +
                      Brief("unit_time: 10s, widths: [[1, 1], [2, 1.5], [4, 2]]",
                            "trials: 2, budget: {max: 6}, resources: {cpus: [1, 4]}")),
              40, 1e-6);
}

TEST(WorkBoundTest, TrialsAsQuickAsTheyWere) {
  const Scenario scenario = Read(World(
      Brief("unit_time: 10s, spread: 0.5", "trials: 9, budget: {max: 4}, resources: {gpus: 1}"),
      "{kind: A100}"));
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    // On one device no order is better than another, so the bound is the makespan.
    const SimulationResult result = Played(scenario, "fifo", seed);
    EXPECT_NEAR(WorkBound(scenario, result)->seconds, Seconds(result.end - Time{}), 1e-3);
  }
  const Scenario wide = Read(World(
      Brief("unit_time: 10s, spread: 0.5", "trials: 9, budget: {max: 4}, resources: {gpus: 1}"),
      "{kind: A100, count: 9}"));
  const SimulationResult result = Played(wide);
  EXPECT_NEAR(WorkBound(wide, result)->seconds, Seconds(result.end - Time{}), 1e-3)
      << "with a device for each trial, the bound is the time of the longest trial";
}

TEST(WorkBoundTest, AStudyThatComesLaterBeginsLater) {
  const auto both = [](int trials_of_first, const std::string& arrives) {
    const std::string keys = "budget: {max: 4}, resources: {gpus: 1}";
    return World(Brief("unit_time: 10s", fmt::format("trials: {}, {}", trials_of_first, keys)) +
                 Brief("unit_time: 10s", "trials: 4, arrives: " + arrives + ", " + keys, "b"));
  };
  EXPECT_NEAR(BoundOf(both(2, "100s")), 100 + 80, 1e-6);
  EXPECT_NEAR(BoundOf(both(20, "100s")), 480, 1e-6);  // all of it on two devices
  // The bound counts from the first arrival.
  const std::string late = World(
      Brief("unit_time: 10s", "trials: 4, arrives: 1h, budget: {max: 4}, resources: {gpus: 1}"));
  EXPECT_NEAR(BoundOf(late), 80, 1e-6);
}

TEST(WorkBoundTest, SynchronousStoppersGiveEveryPolicyTheSameWork) {
  const Scenario scenario =
      Read(World(Brief("unit_time: 10s, spread: 0.3, widths: resnet50, busy: 0.8",
                       "trials: 40, stopper: hyperband, budget: {max: 27}, "
                       "resources: {gpus: [0.5, 4]}"),
                 "{kind: A100, count: 4}"));
  const auto bound = WorkBound(scenario, Played(scenario));
  ASSERT_TRUE(bound.has_value());
  for (const std::string policy : {"lpt", "fluid-static", "fluid-dynamic", "confluence"}) {
    const auto other = WorkBound(scenario, Played(scenario, policy));
    ASSERT_TRUE(other.has_value());
    EXPECT_EQ(other->work, bound->work) << policy;
    EXPECT_DOUBLE_EQ(other->seconds, bound->seconds) << policy;
  }
  EXPECT_NE(WorkBound(scenario, Played(scenario, "fifo", 2))->work, bound->work);
}

TEST(WorkBoundTest, NoneWhereWorkDependsOnThePolicyOrNoneIsKnown) {
  const std::string keys = "trials: 8, budget: {max: 9}, resources: {gpus: 1}";
  const auto with = [&](const std::string& more) {
    return BoundOf(World(Brief("unit_time: 10s", keys + ", " + more)));
  };
  EXPECT_GT(with("retries: 0"), 0);
  EXPECT_GT(with("stopper: sha"), 0);
  EXPECT_EQ(with("deadline: 1h"), 0);
  EXPECT_EQ(with("stop_at: {accuracy: 0.99}"), 0);
  EXPECT_EQ(with("stopper: asha"), 0);
  EXPECT_EQ(with("stopper: median"), 0);
  EXPECT_EQ(with("fuse: 4"), 0);
  EXPECT_EQ(BoundOf(World("  - {study: a, space: {lr: {float: [0, 1]}}, objective: {maximize: "
                          "accuracy}, sampler: tpe, stopper: sha, workload: {unit_time: 10s}, " +
                          keys + "}\n")),
            0)
      << "what a sampler proposes depends on what has come back";
  const std::string study = Brief("unit_time: 10s", keys);
  EXPECT_EQ(BoundOf("failures: [{node: n1, at: 10s, for: 1s}]\nnodes: [{name: n1, devices: {kind: "
                    "A100}}]\nstudies:\n" +
                    study),
            0);
  EXPECT_EQ(BoundOf("pipeline_jobs: [{stages: 4, micro_batches: 8, forward: 12ms, backward: 24ms, "
                    "free_memory: 8GiB, lends: 1}]\n" +
                    World(study)),
            0);
  EXPECT_EQ(BoundOf(World(Brief("unit_time: 10s",
                                "trials: 2, budget: {max: 2}, resources: {gpus: "
                                "2}"))),
            0);
  const std::string elastic =
      Brief("unit_time: 10s", "trials: 2, budget: {max: 2}, resources: {gpus: [1, 2]}", "b");
  EXPECT_GT(BoundOf(World(elastic)), 0);
  EXPECT_EQ(BoundOf(World(study + elastic)), 0);
  EXPECT_EQ(BoundOf(World(elastic, "[{kind: A100}, {kind: H100}]")), 0);
  // All trials start together on one device, and most of them find too little memory and fail.
  EXPECT_EQ(
      BoundOf(World(Brief("unit_time: 10s, memory: 30GiB",
                          "trials: 8, budget: {max: 9}, retries: 0, resources: {gpus: 0.1}"))),
      0);
}

TEST(WorkBoundTest, NoPolicyIsBelowIt) {
  const std::string keys = "trials: 30, budget: {max: 9}, resources: ";
  const std::string packed = Brief(
      "unit_time: 10s, spread: 0.3, busy: {A100: 0.4, H100: 0.3}, bandwidth: 0.2, memory: 4GB, "
      "interference: 0.1, profiled: true",
      keys + "{gpus: 1}");
  const std::string heavy =
      Brief("unit_time: 20s, memory: 8GB, busy: 0.8",
            "trials: 12, arrives: 2m, budget: {max: 9}, resources: {gpus: 0.5, memory: 8GB}", "b");
  const std::string elastic =
      Brief("unit_time: 10s, start_up: 3s, spread: 0.4, busy: 0.7, widths: resnet50, memory: 1GB",
            keys + "{gpus: [0.5, 4], memory: 1GB}");
  int seen = 0;
  for (const std::string& world : {World(packed + heavy, "[{kind: A100, count: 2}, {kind: H100}]"),
                                   World(elastic, "{kind: A100, count: 6}")}) {
    const Scenario scenario = Read(world);
    for (const std::string& policy : PolicyNames()) {
      if (TraitsOf(policy).needs.deadline) continue;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const SimulationResult result = Played(scenario, policy, seed);
        const auto bound = WorkBound(scenario, result);
        ASSERT_TRUE(bound.has_value()) << policy;
        const double makespan = MetricsOf(scenario, result, false).makespan_seconds;
        EXPECT_GE(makespan, bound->seconds * (1 - 1e-6)) << policy << " " << seed;
        EXPECT_LT(makespan, bound->seconds * 10) << policy << " " << seed;
        ++seen;
      }
    }
  }
  EXPECT_GE(seen, 60);
}

}  // namespace
}  // namespace sluice
