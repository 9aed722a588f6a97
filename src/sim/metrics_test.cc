#include "sim/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/check.h"
#include "base/random.h"
#include "base/test_numbers.h"
#include "sim/test_simulation.h"

namespace sluice {
namespace {

TEST(MetricsTest, IntervalsAreStudents) {
  const std::vector<double> values = {4, 5, 6, 7, 8};
  const Estimate estimate = EstimateOf(values);
  EXPECT_DOUBLE_EQ(estimate.mean, 6);
  // 2.7764 * sqrt(2.5) / sqrt(5)
  EXPECT_NEAR(estimate.half_width, 1.9632, 1e-4);
  EXPECT_EQ(estimate.count, 5);
}

TEST(MetricsTest, MissingValuesAreCountedAndLeftOut) {
  const Estimate some = EstimateOf(std::vector<double>{kNan, 3, kNan, 5});
  EXPECT_DOUBLE_EQ(some.mean, 4);
  EXPECT_EQ(some.count, 2);
  EXPECT_EQ(some.missing, 2);
  EXPECT_TRUE(std::isnan(EstimateOf(std::vector<double>{kNan}).mean));
  const Estimate one = EstimateOf(std::vector<double>{3});
  EXPECT_DOUBLE_EQ(one.mean, 3);
  EXPECT_TRUE(std::isnan(one.half_width));
  EXPECT_EQ(EstimateOf({}).count, 0);
}

TEST(MetricsTest, QuantilesOfStudentsT) {
  EXPECT_NEAR(StudentT(1, 0.05), 12.706, 0.001);
  EXPECT_NEAR(StudentT(30, 0.05), 2.0423, 0.0001);
  EXPECT_NEAR(StudentT(31, 0.05), 2.0395, 0.0005);
  EXPECT_NEAR(StudentT(40, 0.05), 2.0211, 0.0005);
  EXPECT_NEAR(StudentT(120, 0.05), 1.9799, 0.0005);
  EXPECT_NEAR(StudentT(1'000'000, 0.05), 1.95996, 0.00001);
  EXPECT_NEAR(StudentT(4, 0.01), 4.6041, 0.0001);
  EXPECT_NEAR(StudentT(19, 0.005), 3.1737, 0.0001);
}

// About 95 % of the 95 % intervals contain the true mean.
TEST(MetricsTest, IntervalsHoldTheTruthAsOftenAsTheySay) {
  Random random(1);
  int held = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> values(5);
    for (double& value : values) value = 10 + 3 * random.Normal();
    const Estimate estimate = EstimateOf(values);
    if (std::abs(estimate.mean - 10) <= estimate.half_width) ++held;
  }
  EXPECT_NEAR(held, 1900, 40);
}

TEST(MetricsTest, ForecastsHoldTheNextValueAsOftenAsTheySay) {
  Random random(1);
  int held = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> values(5);
    for (double& value : values) value = 10 + 3 * random.Normal();
    const Estimate forecast = ForecastOf(values);
    const double next = 10 + 3 * random.Normal();
    if (std::abs(next - forecast.mean) <= forecast.half_width) ++held;
  }
  EXPECT_NEAR(held, 1900, 40);
  EXPECT_TRUE(std::isnan(ForecastOf(std::vector<double>{3}).half_width));
}

TEST(MetricsTest, ARunByHand) {
  const auto read = ReadScenario(R"(
nodes: [{cpus: 8, devices: {kind: A100, count: 2}}]
studies:
  - study: a
    space: {x: {float: [0, 1]}}
    objective: {maximize: accuracy}
    sampler: random
    trials: 3
    budget: {max: 2}
    stop_at: {accuracy: 0.05}
    deadline: 1m
    resources: {gpus: 1}
    arrives: 100s
    workload: {unit_time: 10s, start_up: 5s}
)",
                                 "s.yaml", "s");
  ASSERT_TRUE(read) << read.error().message;
  const auto result = Simulate(*read, {});
  ASSERT_TRUE(result);
  const RunMetrics metrics = MetricsOf(*read, *result, /*measured=*/false);
  // The first report, after 15 s, reaches the target.
  EXPECT_DOUBLE_EQ(metrics.makespan_seconds, 15);
  EXPECT_DOUBLE_EQ(metrics.mean_completion_seconds, 15);
  EXPECT_DOUBLE_EQ(metrics.utilisation, 20.0 / 30);
  EXPECT_DOUBLE_EQ(metrics.overhead, 10.0 / 30);
  ASSERT_EQ(metrics.studies.size(), 1);
  EXPECT_DOUBLE_EQ(metrics.studies[0].seconds_to_target, 15);
  EXPECT_EQ(metrics.studies[0].best_at_deadline, metrics.studies[0].best);
  EXPECT_EQ(metrics.studies[0].stopped, 2);
  EXPECT_TRUE(std::isnan(metrics.mean_decision_seconds));
}

RunMetrics MetricsUnder(std::string_view policy, std::string_view more, std::string_view study) {
  const auto read = ReadScenario(std::string(more) + R"(
studies:
  - study: a
    space: {x: {float: [0, 1]}}
    objective: {maximize: accuracy}
    sampler: random
    budget: {max: 2}
    workload: {unit_time: 10s, busy: 0.3, memory: 1GB}
)" + std::string(study),
                                 "s.yaml", "s");
  EXPECT_TRUE(read) << read.error().message;
  const auto result = Simulate(*read, {.policy = std::string(policy)});
  EXPECT_TRUE(result) << result.error().message;
  return MetricsOf(*read, *result, /*measured=*/false);
}

TEST(MetricsTest, OccupancyIsTheMostThatWasHeldAtOnce) {
  constexpr std::string_view kNodes = "nodes: [{cpus: 8, devices: {kind: A100, count: 2}}]";
  // Three trials run simultaneously. They hold 0.9 of two devices.
  EXPECT_DOUBLE_EQ(
      MetricsUnder("fifo", kNodes, "    trials: 3\n    resources: {gpus: 0.3}\n").occupancy, 0.45);
  EXPECT_DOUBLE_EQ(MetricsUnder("fifo", kNodes,
                                "    trials: 3\n    parallelism: 2\n    resources: {gpus: 0.3}\n")
                       .occupancy,
                   0.3);
  EXPECT_DOUBLE_EQ(
      MetricsUnder("fifo", kNodes, "    trials: 3\n    resources: {gpus: 1}\n").occupancy, 1);
  EXPECT_TRUE(std::isnan(
      MetricsUnder("fifo", "nodes: [{cpus: 8}]", "    trials: 3\n    resources: {cpus: 1}\n")
          .occupancy))
      << "without devices there is none";
}

TEST(MetricsTest, ABundleHoldsItsDeviceOnce) {
  const RunMetrics metrics =
      MetricsUnder("hydro", "nodes: [{cpus: 8, devices: {kind: A100, count: 2}}]",
                   "    trials: 8\n    resources: {gpus: 1, memory: 1GB}\n    fuse: 4\n");
  EXPECT_DOUBLE_EQ(metrics.occupancy, 1);
  EXPECT_LE(metrics.utilisation, 1);
  EXPECT_EQ(metrics.studies[0].complete, 8);
}

// A study with a deadline after 25 s, on one device. Its first trial reports after 10 and 20 s.
struct DeadlineRun {
  explicit DeadlineRun(const std::string& workload)
      : scenario(Read(World("  - study: a\n"
                            "    space: {x: {float: [0, 1]}}\n"
                            "    objective: {maximize: accuracy}\n"
                            "    sampler: random\n"
                            "    trials: 3\n"
                            "    budget: {max: 5}\n"
                            "    deadline: 25s\n"
                            "    resources: {gpus: 1}\n"
                            "    workload: {unit_time: 10s, curve: {noise: 0}" +
                                workload + "}\n",
                            "{kind: A100}"))),
        result(Played(scenario)),
        study(MetricsOf(scenario, result, /*measured=*/false).studies[0]) {}

  Scenario scenario;
  SimulationResult result;
  StudyMetrics study;
};

TEST(MetricsTest, WhatComesAfterTheDeadlineDoesNotCount) {
  const StudyMetrics study = DeadlineRun("").study;
  EXPECT_EQ(study.best_at_deadline, study.best);
  EXPECT_DOUBLE_EQ(study.completion_seconds, 25) << "what runs saves and leaves";
  EXPECT_TRUE(std::isnan(study.seconds_to_target));
}

TEST(MetricsTest, WhatCannotBeSavedByTheDeadlineDoesNotCount) {
  const DeadlineRun run(", save: 6s");
  // The second report, after 20 s, is saved a second too late.
  const auto& incumbents = run.result.studies[0].incumbents;
  ASSERT_EQ(incumbents.size(), 2);
  EXPECT_EQ(run.study.best_at_deadline, incumbents[0].second);
  EXPECT_EQ(run.study.best, incumbents[1].second);
}

}  // namespace
}  // namespace sluice
