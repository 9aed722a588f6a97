#include "policy/solve/assignment_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"
#include "policy/solve/test_sizes.h"

namespace sluice {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

PackingBin Whole(std::size_t kind = 0, std::size_t node = 0) {
  return {.kind = kind,
          .node = node,
          .share = 1000,
          .bandwidth = 1000,
          .memory_bytes = 80 * kGiB,
          .clients = 48};
}

PackingClass Job(int jobs, Milli share, double value) {
  return {.jobs = jobs, .memory_bytes = kGiB, .cpus = 1000, .on_kinds = {{share, 100, value}}};
}

int JobsPlaced(const PackingSolution& solution, std::size_t of_class) {
  int placed = 0;
  for (const int jobs : solution.jobs[of_class]) placed += jobs;
  return placed;
}

// The best value, found by trying every number of jobs of every class in every bin.
double BestByTrying(const PackingProblem& problem) {
  double best = 0;
  std::vector<std::vector<int>> jobs(problem.classes.size(), std::vector<int>(problem.bins.size()));
  const std::function<void(std::size_t, double)> visit = [&](std::size_t at, double value) {
    if (!HoldsToLimits(problem, jobs)) return;
    if (at == problem.classes.size() * problem.bins.size()) {
      best = std::max(best, value);
      return;
    }
    const std::size_t c = at / problem.bins.size();
    const std::size_t b = at % problem.bins.size();
    for (int count = 0; count <= problem.classes[c].jobs; ++count) {
      jobs[c][b] = count;
      const double each = problem.classes[c].on_kinds[problem.bins[b].kind].value;
      visit(at + 1, count > 0 ? value + count * each : value);
      if (!HoldsToLimits(problem, jobs)) break;
    }
    jobs[c][b] = 0;
  };
  visit(0, 0);
  return best;
}

// Any of the limits may bind; some bins are alike, some nodes short of processors.
PackingProblem RandomPackingProblem(Random& random) {
  const auto up_to = [&](std::uint64_t most) { return static_cast<int>(random.Below(most + 1)); };
  PackingProblem problem;
  problem.node_cpus = {Milli{500} * up_to(8), random.Chance(0.5) ? 100'000 : Milli{500} * up_to(8)};
  const int classes = 1 + up_to(2);
  for (int c = 0; c < classes; ++c) {
    PackingClass job{
        .jobs = up_to(3), .memory_bytes = up_to(3) * kGiB, .cpus = 250 * up_to(8), .on_kinds = {}};
    for (int kind = 0; kind < 2; ++kind)
      job.on_kinds.push_back({100 * up_to(7), 100 * up_to(7), random.Uniform(-0.2, 1)});
    problem.classes.push_back(job);
  }
  const int bins = 1 + up_to(2);
  for (int b = 0; b < bins; ++b) {
    if (b > 0 && random.Chance(0.5)) {
      problem.bins.push_back(problem.bins.back());
      problem.bins.back().node = random.Below(2);
      continue;
    }
    problem.bins.push_back({.kind = random.Below(2),
                            .node = random.Below(2),
                            .share = 100 * up_to(11) - 100,
                            .bandwidth = 100 * up_to(10),
                            .memory_bytes = up_to(6) * kGiB,
                            .clients = up_to(4)});
  }
  return problem;
}

TEST(AssignmentProblemTest, ASmallProblemHasTheValueOfTheBestOfAll) {
  Random random(3);
  for (int i = 0; i < 400; ++i) {
    const PackingProblem problem = RandomPackingProblem(random);
    const PackingSolution solution = SolvePacking(problem, {});
    const double best = BestByTrying(problem);
    ASSERT_TRUE(HoldsToLimits(problem, solution.jobs)) << "problem " << i;
    ASSERT_EQ(solution.proof, Proof::kOptimal) << "problem " << i;
    ASSERT_LE(solution.value, best + 1e-9) << "problem " << i;
    ASSERT_GE(solution.value, best * 0.999 - 1e-9) << "problem " << i;
    ASSERT_GE(solution.bound, best - 1e-9) << "problem " << i;
  }
}

TEST(AssignmentProblemTest, TheSolutionWithoutSearchHoldsToo) {
  Random random(4);
  for (int i = 0; i < 200; ++i) {
    const PackingProblem problem = RandomPackingProblem(random);
    const PackingSolution solution = SolvePacking(problem, {.seconds = 0});
    ASSERT_TRUE(HoldsToLimits(problem, solution.jobs)) << "problem " << i;
    ASSERT_GE(solution.bound, BestByTrying(problem) - 1e-9) << "problem " << i;
  }
}

TEST(AssignmentProblemTest, NoJobsOrNoBinsAreSolved) {
  EXPECT_EQ(SolvePacking({}, {}).proof, Proof::kOptimal);
  const PackingSolution no_jobs =
      SolvePacking({.classes = {Job(0, 500, 1)}, .bins = {Whole()}, .node_cpus = {9000}}, {});
  EXPECT_EQ(no_jobs.proof, Proof::kOptimal);
  EXPECT_THAT(no_jobs.jobs, ElementsAre(ElementsAre(0)));
  const PackingSolution no_classes =
      SolvePacking({.classes = {}, .bins = {Whole()}, .node_cpus = {9000}}, {});
  EXPECT_EQ(no_classes.value, 0);
  const PackingSolution no_bins =
      SolvePacking({.classes = {Job(5, 500, 1)}, .bins = {}, .node_cpus = {9000}}, {});
  EXPECT_EQ(no_bins.proof, Proof::kOptimal);
  EXPECT_THAT(no_bins.jobs, ElementsAre(ElementsAre()));
}

// Each problem has room in everything except one resource.
TEST(AssignmentProblemTest, EveryLimitBinds) {
  PackingProblem problem{
      .classes = {Job(100, 100, 1)}, .bins = {Whole(), Whole()}, .node_cpus = {100'000}};
  EXPECT_THAT(SolvePacking(problem, {}).jobs, ElementsAre(Each(10)));

  PackingProblem memory = problem;
  memory.classes[0].memory_bytes = 80 * kGiB / 3 + 1;  // one byte too many for three
  EXPECT_THAT(SolvePacking(memory, {}).jobs, ElementsAre(Each(2)));
  memory.classes[0].memory_bytes = 80 * kGiB / 4;
  EXPECT_THAT(SolvePacking(memory, {}).jobs, ElementsAre(Each(4)));

  PackingProblem bandwidth = problem;
  bandwidth.bins[1].bandwidth = 350;
  EXPECT_THAT(SolvePacking(bandwidth, {}).jobs, ElementsAre(ElementsAre(10, 3)));

  PackingProblem clients = problem;
  clients.bins[0].clients = 1;
  EXPECT_THAT(SolvePacking(clients, {}).jobs, ElementsAre(ElementsAre(1, 10)));

  PackingProblem cpus = problem;
  cpus.node_cpus[0] = 7'999;
  EXPECT_EQ(JobsPlaced(SolvePacking(cpus, {}), 0), 7);

  PackingProblem jobs = problem;
  jobs.classes[0].jobs = 13;
  EXPECT_EQ(JobsPlaced(SolvePacking(jobs, {}), 0), 13);

  PackingProblem overfull = problem;
  overfull.bins[0].share = -200;
  EXPECT_THAT(SolvePacking(overfull, {}).jobs, ElementsAre(ElementsAre(0, 10)));
}

TEST(AssignmentProblemTest, AJobGoesWhereItIsWorthMost) {
  PackingClass vision = Job(2, 500, 1);
  vision.on_kinds.push_back({300, 100, 0});  // cannot run on the second kind
  PackingClass text = Job(3, 500, 1);
  text.on_kinds.push_back({300, 100, 2});
  const PackingProblem problem{
      .classes = {vision, text}, .bins = {Whole(0), Whole(1)}, .node_cpus = {64'000}};
  const PackingSolution solution = SolvePacking(problem, {});
  EXPECT_THAT(solution.jobs, ElementsAre(ElementsAre(2, 0), ElementsAre(0, 3)));
  EXPECT_DOUBLE_EQ(solution.value, 8);
}

// The greedy solution takes the job of highest value, and leaves 0.4 of the device empty.
TEST(AssignmentProblemTest, TheWholeIsMoreThanTheDearestJob) {
  const PackingProblem problem{
      .classes = {Job(1, 600, 1), Job(2, 500, 0.9)}, .bins = {Whole()}, .node_cpus = {64'000}};
  EXPECT_THAT(SolvePacking(problem, {}).jobs, ElementsAre(ElementsAre(0), ElementsAre(2)));
}

// Like HyperSack's largest search space: 24 shapes of 16 jobs, 16 devices of two kinds on four
// nodes.
PackingProblem LargeProblem(std::uint64_t seed, Milli node_cpus) {
  Random random(seed);
  PackingProblem problem;
  for (int c = 0; c < 24; ++c) {
    const double share = random.Uniform(150, 500);
    const double value = random.Uniform(0.5, 1.5);
    const auto milli = [](double of) { return static_cast<Milli>(of); };
    problem.classes.push_back(
        {.jobs = 16,
         .memory_bytes = milli(random.Uniform(2, 16) * kGiB),
         .cpus = milli(random.Uniform(500, 3000)),
         .on_kinds = {{milli(share), milli(share * 0.8), value},
                      {milli(share * 0.68), milli(share * 0.5), value * 1.3}}});
  }
  for (std::size_t b = 0; b < 16; ++b) problem.bins.push_back(Whole(b < 4 ? 1 : 0, b / 4));
  problem.node_cpus.assign(4, node_cpus);
  return problem;
}

TEST(AssignmentProblemTest, ALargeProblemIsSolvedToOptimality) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const PackingProblem problem = LargeProblem(seed, 128'000);
    const PackingSolution solution = SolvePacking(problem, {});
    EXPECT_TRUE(HoldsToLimits(problem, solution.jobs));
    EXPECT_EQ(solution.proof, Proof::kOptimal) << "seed " << seed;
  }
}

TEST(AssignmentProblemTest, ALimitOfNodesGivesTheSameEachTime) {
  const PackingProblem problem = LargeProblem(2, 24'000);
  const PackingSolution first = SolvePacking(problem, {.nodes = 20});
  EXPECT_TRUE(HoldsToLimits(problem, first.jobs));
  EXPECT_GE(first.value, first.bound * 0.98);
  EXPECT_EQ(SolvePacking(problem, {.nodes = 20}).jobs, first.jobs);
}

TEST(AssignmentProblemTest, HardlyAnyTimeIsStillASolution) {
  const PackingProblem problem = LargeProblem(2, 24'000);
  for (const double seconds : {-1.0, 0.0, 1e-9, 0.001}) {
    const PackingSolution solution = SolvePacking(problem, {.seconds = seconds});
    EXPECT_TRUE(HoldsToLimits(problem, solution.jobs));
    EXPECT_GT(solution.value, 0.9 * solution.bound);
  }
}

}  // namespace
}  // namespace sluice
