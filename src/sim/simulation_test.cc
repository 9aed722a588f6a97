#include "sim/simulation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "sim/test_simulation.h"

namespace sluice {
namespace {

using ::testing::SizeIs;

TEST(SimulationTest, TakesAsLongAsTheWorldSays) {
  // 5 trials of 4 units of 10 s, 3 s of start-up and 1 s to save, on 2 devices: 3 rounds of 44 s.
  const auto result = Played(Read(World(Entry("unit_time: 10s, start_up: 3s, save: 1s",
                                              "    trials: 5\n    budget: {max: 4}\n"
                                              "    resources: {gpus: 1}\n"))));
  EXPECT_DOUBLE_EQ(SecondsOf(result.end), 132);
  EXPECT_EQ(result.studies[0].finish, Finish::kTrials);
  EXPECT_EQ(Count(result.studies[0], TrialState::kComplete), 5);
  EXPECT_DOUBLE_EQ(result.usage.device_seconds[0], 15);
  EXPECT_DOUBLE_EQ(result.usage.device_seconds[1], 200);
  EXPECT_DOUBLE_EQ(result.usage.device_seconds[2], 5);
  EXPECT_THAT(result.usage.intervals, SizeIs(15));
  EXPECT_THAT(result.rows, SizeIs(3));
  EXPECT_EQ(result.devices, 2);
}

TEST(SimulationTest, AQuickerKindFinishesSooner) {
  const std::string study =
      Entry("unit_time: 79s, busy: 0.37",
            "    trials: 1\n    budget: {max: 1}\n    resources: {gpus: 1}\n");
  EXPECT_NEAR(SecondsOf(Played(Read(World(study, "{kind: A100}"))).end), 79, 0.01);
  EXPECT_NEAR(SecondsOf(Played(Read(World(study, "{kind: H100}"))).end), 64, 0.1);
}

TEST(SimulationTest, WideTrialsFollowTheElasticTable) {
  const auto result = Played(Read(World(Entry("unit_time: 342.15s, on: V100, widths: resnet50",
                                              "    trials: 1\n    budget: {max: 1}\n"
                                              "    resources: {gpus: 4}\n"),
                                        "{kind: V100, count: 4}")));
  EXPECT_NEAR(SecondsOf(result.end), 100, 0.001);
  EXPECT_THAT(result.usage.intervals, SizeIs(4));
}

TEST(SimulationTest, ATrialStaysOnOneNode) {
  // Two nodes have 4 devices each. A trial wants 3, so each node has room for one trial at a time.
  const auto result =
      Played(Read("nodes: [{count: 2, cpus: 8, devices: {kind: A100, count: 4}}]\nstudies:\n" +
                  Entry("unit_time: 10s, widths: linear",
                        "    trials: 4\n    budget: {max: 3}\n    resources: {gpus: 3}\n")));
  EXPECT_DOUBLE_EQ(SecondsOf(result.end), 20);
  EXPECT_THAT(result.rows, ::testing::ElementsAre("node1-gpu0", "node1-gpu1", "node1-gpu2",
                                                  "node1-gpu3", "node2-gpu0", "node2-gpu1",
                                                  "node2-gpu2", "node2-gpu3", "node1", "node2"));
}

TEST(SimulationTest, NeighboursSlowEachOtherDownWhileTheyAreThere) {
  // Each trial has half of one device. Alone, its 10 units of 3 s would take 30 s.
  const std::string study =
      Entry("unit_time: 3s, busy: 0.5, interference: 1",
            "    trials: 2\n    budget: {max: 10}\n    resources: {gpus: 0.5}\n");
  EXPECT_NEAR(SecondsOf(Played(Read(World(study, "{kind: A100}"))).end), 45, 0.001);
  EXPECT_NEAR(SecondsOf(Played(Read(World(study, "{kind: A100, count: 2}"))).end), 45, 0.001)
      << "fifo fills one device first";
  // A neighbour arrives when the first trial is half done. The first trial takes 15 s alone, then
  // 22.5 s beside the neighbour. The neighbour then needs another 15 s, alone.
  const std::string more =
      Entry("unit_time: 3s, busy: 0.5, interference: 1",
            "    trials: 1\n    budget: {max: 10}\n    resources: {gpus: 0.5}\n");
  const std::string late = Entry(
      "unit_time: 3s, busy: 0.5, interference: 1",
      "    trials: 1\n    budget: {max: 10}\n    resources: {gpus: 0.5}\n    arrives: 15s\n", "b");
  const auto result = Played(Read(World(more + late, "{kind: A100}")));
  EXPECT_NEAR(SecondsOf(result.studies[0].finished), 37.5, 0.001);
  EXPECT_NEAR(SecondsOf(result.studies[1].finished), 52.5, 0.001);
}

TEST(SimulationTest, TooLittleMemoryFailsAsProgramsDo) {
  const auto result =
      Played(Read(World(Entry("unit_time: 1s, busy: 0.5, memory: 30GB",
                              "    trials: 2\n    budget: {max: 10}\n    retries: 0\n"
                              "    resources: {gpus: 0.5}\n"),
                        "{kind: A100}")));
  EXPECT_EQ(Count(result.studies[0], TrialState::kFailed), 1);
  EXPECT_EQ(Count(result.studies[0], TrialState::kComplete), 1);
}

TEST(SimulationTest, StudiesComeWhenTheyArrive) {
  const std::string keys = "    trials: 2\n    budget: {max: 2}\n    resources: {gpus: 1}\n";
  const auto result =
      Played(Read(World(Entry("unit_time: 5s", keys + "    arrives: 100s\n", "late") +
                        Entry("unit_time: 5s", keys, "early"))));
  EXPECT_EQ(result.studies[0].name, "late");
  EXPECT_DOUBLE_EQ(SecondsOf(result.studies[0].arrived), 100);
  EXPECT_DOUBLE_EQ(SecondsOf(result.studies[0].finished), 110);
  EXPECT_DOUBLE_EQ(SecondsOf(result.studies[1].finished), 10);
}

TEST(SimulationTest, CoresAreDevicesEnough) {
  const auto result = Played(Read("nodes: [{cpus: 2}]\nstudies:\n" +
                                  Entry("unit_time: 5s", "    trials: 4\n    budget: {max: 2}\n")));
  EXPECT_DOUBLE_EQ(SecondsOf(result.end), 20);
  EXPECT_DOUBLE_EQ(result.usage.core_seconds[1], 40);
  EXPECT_EQ(result.devices, 0);
}

TEST(SimulationTest, ProgramsThatEndByThemselvesAreComplete) {
  const auto result = Played(Read(World(Entry("unit_time: 5s, ends_after: 7, report_every: 3",
                                              "    trials: 2\n    resources: {gpus: 1}\n"))));
  EXPECT_EQ(Count(result.studies[0], TrialState::kComplete), 2);
  EXPECT_DOUBLE_EQ(SecondsOf(result.end), 35);
}

// Under every stopper with every sampler, all trials end, and a seed gives the same digest again.
TEST(SimulationTest, EverySearchRunsToItsEnd) {
  for (const std::string& sampler : SamplerNames()) {
    for (const std::string& stopper : StopperNames()) {
      const std::string space = sampler == "grid" ? "{a: {int: [1, 6]}, b: {int: [1, 5]}}"
                                                  : "{a: {float: [0, 1]}, b: {choice: [x, y]}}";
      const Scenario scenario = Read(World(fmt::format(
          "  - space: {}\n    objective: {{minimize: loss}}\n    sampler: {}\n    stopper: {}\n"
          "    trials: 30\n    budget: {{min: 1, max: 9}}\n    resources: {{gpus: 1}}\n"
          "    workload: {{unit_time: 2s, start_up: 1s, save: 1s, restore: 1s, checkpoint: 1MB, "
          "spread: 0.2, curve: {{half_work: 2, divergence: 0.1, nans: 0.1, plateaus: 0.1}}}}\n",
          space, sampler, stopper)));
      const auto result = Played(scenario);
      EXPECT_EQ(result.studies[0].finish, Finish::kTrials) << sampler << " " << stopper;
      EXPECT_EQ(Count(result.studies[0], TrialState::kWaiting), 0);
      EXPECT_EQ(Count(result.studies[0], TrialState::kRunning), 0);
      EXPECT_GE(Count(result.studies[0], TrialState::kComplete), 1);
      EXPECT_EQ(Played(scenario).digest, result.digest) << sampler << " " << stopper;
      EXPECT_NE(Played(scenario, "fifo", 2).digest, result.digest) << sampler << " " << stopper;
    }
  }
}

// The trace is the same with every compiler and in every version. Change it here only if the
// simulated world, a search or the engine's decisions change.
TEST(SimulationTest, HappensAsEver) {
  const auto result = Played(Read(
      World(Entry("unit_time: 3s, start_up: 2s, save: 1s, restore: 1s, busy: 0.4, interference: "
                  "0.3, spread: 0.1",
                  "    trials: 40\n    stopper: asha-promotion\n    budget: {max: 27}\n"
                  "    resources: {gpus: 0.5}\n") +
            Entry("unit_time: 7s, curve: hypersched",
                  "    trials: 10\n    stopper: median\n    budget: {max: 10}\n    arrives: 90s\n"
                  "    resources: {gpus: 2}\n    deadline: 10m\n",
                  "b"))));
  EXPECT_EQ(ToHex(result.trace), "071210ed5fda82fa");
}

TEST(SimulationTest, WhatIsRecordedDoesNotChangeWhatHappens) {
  const Scenario scenario = Read(World(Entry(
      "unit_time: 3s",
      "    trials: 10\n    stopper: asha\n    budget: {max: 9}\n    resources: {gpus: 1}\n")));
  std::int64_t clock = 0;
  std::int64_t progress = 0;
  const auto watched =
      Simulate(scenario, {.seed = 1,
                          .record_intervals = false,
                          .stopwatch_ns = [&] { return clock += 10; },
                          .progress = [&](const SimulationProgress& at) { progress = at.events; }});
  ASSERT_TRUE(watched);
  EXPECT_EQ(watched->digest, Played(scenario).digest);
  EXPECT_EQ(progress, watched->events);
  EXPECT_GT(watched->decisions.plans, 10);
  EXPECT_EQ(watched->decisions.ns, 10 * watched->decisions.plans);
  EXPECT_EQ(watched->decisions.longest_ns, 10);
  EXPECT_TRUE(watched->usage.intervals.empty());
}

// Shares held on one device never add up to more than the whole device.
TEST(SimulationTest, IntervalsNeverOverCommitADevice) {
  const auto result = Played(
      Read(World(Entry("unit_time: 3s, start_up: 2s, save: 1s, restore: 1s, busy: 0.3",
                       "    trials: 60\n    stopper: asha-promotion\n    budget: {max: 9}\n    "
                       "resources: {gpus: 0.3}\n"),
                 "{kind: A100, count: 3}")));
  std::map<std::uint32_t, std::map<Time, Milli>> changes;
  for (const Interval& interval : result.usage.intervals) {
    EXPECT_LT(interval.begin, interval.end);
    changes[interval.row][interval.begin] += interval.share;
    changes[interval.row][interval.end] -= interval.share;
  }
  EXPECT_THAT(changes, SizeIs(3));
  for (const auto& [row, at] : changes) {
    Milli used = 0;
    for (const auto& [time, change] : at) {
      used += change;
      EXPECT_LE(used, kWhole);
      EXPECT_GE(used, 0);
    }
    EXPECT_EQ(used, 0);
  }
}

TEST(SimulationTest, IncumbentsGetBetterAndBetter) {
  const auto result = Played(Read(World(
      Entry("unit_time: 3s", "    trials: 20\n    budget: {max: 9}\n    resources: {gpus: 1}\n"))));
  const auto& incumbents = result.studies[0].incumbents;
  ASSERT_GT(incumbents.size(), 3);
  for (std::size_t i = 1; i < incumbents.size(); ++i) {
    EXPECT_GE(incumbents[i].first, incumbents[i - 1].first);
    EXPECT_GT(incumbents[i].second, incumbents[i - 1].second);
  }
}

TEST(SimulationTest, ATrialWhoseCheckpointWasGivenUpTrainsAgainAndCountsOnce) {
  const std::string keys =
      "    trials: 40\n    stopper: asha-promotion\n    budget: {max: 27}\n    resources: {gpus: "
      "1}\n";
  const std::string work = "unit_time: 10s, save: 1s, restore: 1s, checkpoint: 1MB";
  const auto roomy = Played(Read(World(Entry(work, keys))));
  const auto tight = Played(Read(World(Entry(work, keys + "    checkpoint_cap: 2MB\n"))));
  EXPECT_GT(tight.usage.device_seconds[1], roomy.usage.device_seconds[1]);
  EXPECT_EQ(tight.studies[0].finish, Finish::kTrials);
  EXPECT_NEAR(tight.studies[0].incumbents.back().second, roomy.studies[0].incumbents.back().second,
              0.05);
}

TEST(SimulationTest, TimeoutsAndRetriesAreTheEngines) {
  const auto result =
      Played(Read(World(Entry("unit_time: 10s",
                              "    trials: 2\n    budget: {max: 9}\n    resources: {gpus: 1}\n"
                              "    timeouts: {trial: 25s}\n    retries: 1\n"))));
  EXPECT_EQ(Count(result.studies[0], TrialState::kFailed), 2);
  EXPECT_DOUBLE_EQ(SecondsOf(result.end), 51);
}

TEST(SimulationTest, EnqueuedPointsComeFirst) {
  const auto result =
      Played(Read(World(Entry("unit_time: 10s",
                              "    trials: 3\n    budget: {max: 1}\n    resources: {gpus: 2}\n"
                              "    enqueue: [{lr: 0.5}, {lr: 0.25, width: 3}]\n"))));
  EXPECT_EQ(Count(result.studies[0], TrialState::kComplete), 3);
}

// When a study's first trial began.
Time Begun(const SimulationResult& result, std::uint32_t study) {
  Time first = Time::max();
  for (const Interval& interval : result.usage.intervals) {
    if (interval.study == StudyId(study)) first = std::min(first, interval.begin);
  }
  return first;
}

TEST(SimulationTest, FusedTrialsShareADeviceAndItsSpeedUp) {
  // Four fused trials do twice the work of one, so each takes twice as long as alone.
  const Scenario scenario = Read(
      World(Entry("unit_time: 10s, start_up: 3s, memory: 4GB, fusion: [[1, 1], [4, 2]]",
                  "    trials: 4\n    budget: {max: 4}\n    resources: {gpus: 1, memory: 4GB}\n"
                  "    fuse: {most: 8, memory: 1GB}\n"),
            "{kind: A100}"));
  const auto fused = Played(scenario, "hydro");
  EXPECT_EQ(Count(fused.studies[0], TrialState::kComplete), 4);
  EXPECT_NEAR(SecondsOf(fused.end), 83, 0.1);
  EXPECT_DOUBLE_EQ(fused.usage.most_shares, 1000);
  EXPECT_NEAR(SecondsOf(Played(scenario).end), 4 * 43, 0.1);
}

// Eight trials of four units, on two cores. One program can train all eight trials.
Scenario FusedOnCores(const std::string& workload, const std::string& more = "") {
  return Read("nodes: [{cpus: 2}]\nstudies:\n" +
              Entry("unit_time: 10s, start_up: 3s" + workload,
                    "    trials: 8\n    budget: {max: 4}\n    fuse: 8\n" + more));
}

TEST(SimulationTest, TrialsAreFusedOnCoresToo) {
  // Two bundles of four. Each does twice the work of one trial, so that all take twice as long.
  const Scenario scenario = FusedOnCores(", fusion: [[1, 1], [4, 2]]");
  for (const char* policy : {"hydro", "confluence"}) {
    const auto fused = Played(scenario, policy);
    EXPECT_EQ(Count(fused.studies[0], TrialState::kComplete), 8) << policy;
    EXPECT_NEAR(SecondsOf(fused.end), 83, 0.1) << policy;
    EXPECT_NEAR(fused.usage.core_seconds[1], 2 * 83, 0.1) << policy << ": once for each bundle";
  }
  EXPECT_NEAR(SecondsOf(Played(scenario).end), 4 * 43, 0.1);
}

TEST(SimulationTest, OnCoresFusedTrialsShareWhatOneWouldDo) {
  EXPECT_NEAR(SecondsOf(Played(FusedOnCores(""), "hydro").end), 4 * 40 + 3, 0.1);
}

TEST(SimulationTest, TrialsOfDifferentShapesAreNotFused) {
  const auto result =
      Played(FusedOnCores(", fusion: [[1, 1], [8, 8]]", "    shape: [width]\n"), "hydro");
  EXPECT_EQ(Count(result.studies[0], TrialState::kComplete), 8);
  EXPECT_GT(SecondsOf(result.end), 2 * 43) << "there are 64 shapes";
  const auto one_shape = Played(FusedOnCores(", fusion: [[1, 1], [8, 8]]"), "hydro");
  EXPECT_NEAR(SecondsOf(one_shape.end), 43, 0.1);
}

TEST(SimulationTest, BundlesAreNoLargerThanMemoryAllows) {
  // The device has 40 GiB, of which a twentieth stays free. Each fused trial takes 12 GiB, so three
  // fit.
  const Scenario scenario = Read(
      World(Entry("unit_time: 10s, memory: 12GiB",
                  "    trials: 9\n    budget: {max: 1}\n    resources: {gpus: 1, memory: 12GiB}\n"
                  "    fuse: 8\n"),
            "{kind: A100}"));
  const auto result = Played(scenario, "hydro");
  EXPECT_EQ(Count(result.studies[0], TrialState::kComplete), 9) << "no trial ran out of memory";
}

// A search, and a target study that trains the best point of the search.
Scenario WithTarget(int count) {
  return Read(
      World(Entry("unit_time: 10s, spread: 0.3",
                  "    trials: 8\n    budget: {max: 4}\n    resources: {gpus: 1, memory: 1GB}\n") +
                Entry("unit_time: 60s",
                      "    transfer: a\n    budget: {max: 3}\n"
                      "    resources: {gpus: 1, memory: 1GB}\n",
                      "target"),
            fmt::format("{{kind: A100, count: {}}}", count)));
}

TEST(SimulationTest, TheBestOfAStudyIsTrainedWhenItHasEnded) {
  const auto result = Played(WithTarget(2));
  EXPECT_EQ(Count(result.studies[1], TrialState::kComplete), 1);
  EXPECT_EQ(Count(result.studies[1], TrialState::kStopped), 0);
  EXPECT_GE(Begun(result, 2), result.studies[0].finished);
  EXPECT_EQ(result.studies[1].finish, Finish::kTrials);
}

TEST(SimulationTest, AnEagerPolicyTrainsTheBestSoFarWhereADeviceIsIdle) {
  // There is room for all trials. The target study begins during the search, and begins again with
  // each new best point.
  const auto eager = Played(WithTarget(12), "hydro");
  EXPECT_LT(Begun(eager, 2), eager.studies[0].finished);
  EXPECT_EQ(Count(eager.studies[1], TrialState::kComplete), 1);
  EXPECT_GE(Begun(eager, 2), Time(std::chrono::seconds(10)));
  const auto patient = Played(WithTarget(12));
  EXPECT_LE(eager.end, patient.end);
  // While every device is busy with the search, the target study waits.
  const auto busy = Played(WithTarget(1), "hydro");
  EXPECT_GE(Begun(busy, 2), busy.studies[0].finished);
}

}  // namespace
}  // namespace sluice
