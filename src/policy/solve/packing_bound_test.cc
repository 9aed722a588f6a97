#include "policy/solve/packing_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "policy/solve/test_sizes.h"

namespace sluice {
namespace {

constexpr double kNowhere = std::numeric_limits<double>::infinity();

BoundKind Devices(double devices) { return {.devices = devices, .memory_bytes = 80 * kGiB}; }

TEST(PackingBoundTest, SharesAreFilled) {
  // 100 jobs of 0.25 for 60 s are 1500 device seconds.
  BoundProblem problem{
      .classes = {{.jobs = 100, .memory_bytes = kGiB, .cpus = 1000, .on_kinds = {{60, 250, 100}}}},
      .kinds = {Devices(4)},
      .cpus = 1'000'000};
  EXPECT_NEAR(PackingBound(problem), 375, 1e-6);
  problem.kinds[0].devices = 10;
  EXPECT_NEAR(PackingBound(problem), 150, 1e-6);
}

TEST(PackingBoundTest, EveryOtherLimitBinds) {
  const BoundProblem problem{
      .classes = {{.jobs = 100, .memory_bytes = kGiB, .cpus = 1000, .on_kinds = {{60, 10, 10}}}},
      .kinds = {Devices(2)},
      .cpus = 1'000'000};
  EXPECT_NEAR(PackingBound(problem), 100 * 60 / 48.0 / 2, 1e-6);  // clients

  BoundProblem memory = problem;
  memory.classes[0].memory_bytes = 20 * kGiB;
  EXPECT_NEAR(PackingBound(memory), 100 * 60 / 4.0 / 2, 1e-6);

  BoundProblem bandwidth = problem;
  bandwidth.classes[0].on_kinds[0].bandwidth = 500;
  EXPECT_NEAR(PackingBound(bandwidth), 100 * 60 / 2.0 / 2, 1e-6);

  BoundProblem cpus = problem;
  cpus.cpus = 16'000;
  EXPECT_NEAR(PackingBound(cpus), 100 * 60 / 16.0, 1e-6);

  BoundProblem longest = problem;
  longest.classes.push_back(
      {.jobs = 1, .memory_bytes = 0, .cpus = 0, .on_kinds = {{5000, 1000, 0}}});
  EXPECT_NEAR(PackingBound(longest), 5000, 1e-6);
}

TEST(PackingBoundTest, KindsShareTheWorkBySpeed) {
  // A whole device each, for 60 s or for 30 s.
  BoundProblem problem{.classes = {{.jobs = 90,
                                    .memory_bytes = 0,
                                    .cpus = 0,
                                    .on_kinds = {{60, 1000, 0}, {30, 1000, 0}}}},
                       .kinds = {Devices(1), Devices(1)},
                       .cpus = 0};
  EXPECT_NEAR(PackingBound(problem), 90 / (1 / 60.0 + 1 / 30.0), 1e-6);

  // Each class runs on the kind where it is fastest: 10 jobs of 10 s on each kind.
  problem.classes = {
      {.jobs = 10, .memory_bytes = 0, .cpus = 0, .on_kinds = {{10, 1000, 0}, {100, 1000, 0}}},
      {.jobs = 10, .memory_bytes = 0, .cpus = 0, .on_kinds = {{100, 1000, 0}, {10, 1000, 0}}}};
  EXPECT_NEAR(PackingBound(problem), 100, 1e-6);
}

TEST(PackingBoundTest, AJobRunsOnlyWhereItFits) {
  BoundProblem problem{.classes = {{.jobs = 10,
                                    .memory_bytes = 90 * kGiB,
                                    .cpus = 0,
                                    .on_kinds = {{10, 500, 0}, {40, 500, 0}}}},
                       .kinds = {Devices(8), {.devices = 1, .memory_bytes = 100 * kGiB}},
                       .cpus = 0};
  EXPECT_NEAR(PackingBound(problem), 10 * 40 * 0.9, 1e-6);  // by memory
  problem.classes[0].on_kinds[1].seconds = kNowhere;
  EXPECT_EQ(PackingBound(problem), kNowhere);
  problem.classes[0].jobs = 0;
  EXPECT_EQ(PackingBound(problem), 0);
  EXPECT_EQ(PackingBound({}), 0);
}

// Starts jobs one by one, each on the quarter of a device that is free first. This is a schedule,
// so no bound is above its length.
TEST(PackingBoundTest, NoScheduleIsShorter) {
  Random random(5);
  for (int i = 0; i < 100; ++i) {
    BoundProblem problem{.classes = {}, .kinds = {Devices(2)}, .cpus = 1'000'000};
    std::vector<double> slots(8);  // four quarters of each device: when they are free again
    for (int c = 0; c < 4; ++c) {
      const double seconds = random.Uniform(1, 100);
      const int jobs = static_cast<int>(random.Below(6));
      problem.classes.push_back(
          {.jobs = 1.0 * jobs,
           .memory_bytes = 20 * kGiB,
           .cpus = 1000,
           .on_kinds = {{seconds, static_cast<Milli>(1 + random.Below(250)), 0}}});
      for (int j = 0; j < jobs; ++j) *std::ranges::min_element(slots) += seconds;
    }
    const double bound = PackingBound(problem);
    ASSERT_LE(bound, std::ranges::max(slots) + 1e-6) << "problem " << i;
    ASSERT_GE(bound, std::ranges::max(slots) / 2.01)
        << "problem " << i;  // list scheduling is no worse
  }
}

}  // namespace
}  // namespace sluice
