// Runs scenarios under the production policies, and under policies made for these tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "sim/simulation.h"
#include "sim/test_simulation.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(SimulationPolicyTest, RefusesAPolicyThereIsNot) {
  const auto result =
      Simulate(Read(World(Entry("unit_time: 3s", "    trials: 1\n    budget: {max: 9}\n"))),
               {.policy = "fifi"});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("did you mean 'fifo'?"));
}

// Leaves all trials waiting.
class Idle final : public Policy {
 public:
  Plan Propose(const Cluster&, const WorkView& work, Time) override {
    Plan plan;
    for (const StudyView& study : work.studies) {
      if (study.waiting == 0) plan.wanted_room.push_back({study.study, 1});
    }
    return plan;
  }
};

TEST(SimulationPolicyTest, APolicyThatLeavesTrialsWaitingIsFoundOut) {
  const auto result =
      Simulate(Read(World(Entry("unit_time: 3s", "    trials: 2\n    budget: {max: 9}\n"))),
               {.policy = "idle"}, std::make_unique<Idle>());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(
      result.error().message,
      HasSubstr("the policy idle leaves study 'a' unfinished: after 0ms nothing happens any "
                "more, and 1 of its trials wait"));
}

// Like fifo, but preempts a trial at every third plan.
class Restless final : public Policy {
 public:
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override {
    Plan plan = (*fifo_)->Propose(cluster, work, now);
    plan.keeps_running = false;
    for (const WorkItem& item : work.items) {
      if (item.running) plan.placements.insert(plan.placements.begin(), {item.trial, *item.grant});
    }
    if (++plans_ % 3 == 0 && plan.placements.size() > 1)
      plan.placements.erase(plan.placements.begin());
    plan.ask_again = now + std::chrono::seconds(17);
    return plan;
  }

 private:
  Result<std::unique_ptr<Policy>> fifo_ = MakePolicy("fifo");
  int plans_ = 0;
};

TEST(SimulationPolicyTest, TrialsThatMakeRoomGoOnWhereTheySaved) {
  const Scenario scenario =
      Read(World(Entry("unit_time: 10s, start_up: 2s, save: 1s, restore: 3s",
                       "    trials: 6\n    budget: {max: 9}\n    resources: {gpus: 1}\n")));
  const auto result = Simulate(scenario, {.record_intervals = true}, std::make_unique<Restless>());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(Count(result->studies[0], TrialState::kComplete), 6);
  const auto calm = Played(scenario);
  EXPECT_GT(result->usage.device_seconds[2], calm.usage.device_seconds[2])
      << "some saved more than once";
  EXPECT_GT(result->end, calm.end);
  // Only the work since the last report is lost.
  const double more = result->usage.device_seconds[1] - calm.usage.device_seconds[1];
  EXPECT_GT(more, 0);
  EXPECT_LE(more, 10 * (result->usage.device_seconds[2] - calm.usage.device_seconds[2]));
}

// Moves every running trial, or preempts every running trial, or asks for another plan without
// delay. After a thousand plans at one moment this policy plans like fifo.
class Fickle final : public Policy {
 public:
  enum class Whim { kDrops, kMoves, kAsks };
  Fickle(Whim whim, int& most) : whim_(whim), most_(most) {}

  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override {
    plans_ = now == last_ ? plans_ + 1 : 1;
    last_ = now;
    most_ = std::max(most_, plans_);
    Plan plan = (*fifo_)->Propose(cluster, work, now);
    if (plans_ > 1000) return plan;
    if (whim_ == Whim::kAsks) {
      plan.ask_again = now;
      return plan;
    }
    plan.keeps_running = false;
    if (whim_ == Whim::kDrops) return plan;
    for (const WorkItem& item : work.items) {
      if (!item.running) continue;
      Grant other = *item.grant;
      other.devices.front() = DeviceId(1 - Number(other.devices.front()));
      plan.placements.push_back({item.trial, std::move(other)});
    }
    return plan;
  }

 private:
  Whim whim_;
  int& most_;
  int plans_ = 0;
  Time last_ = Time::min();
  Result<std::unique_ptr<Policy>> fifo_ = MakePolicy("fifo");
};

TEST(SimulationPolicyTest, TimePassesUnderAPolicyThatChangesItsMind) {
  const Scenario scenario = Read(World(
      Entry("unit_time: 10s", "    trials: 6\n    budget: {max: 9}\n    resources: {gpus: 1}\n")));
  for (const auto whim : {Fickle::Whim::kDrops, Fickle::Whim::kMoves, Fickle::Whim::kAsks}) {
    int most = 0;
    const auto result = Simulate(scenario, {}, std::make_unique<Fickle>(whim, most));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(Count(result->studies[0], TrialState::kComplete), 6);
    EXPECT_LT(most, 50) << static_cast<int>(whim);
  }
}

Result<SimulationResult> PlayedBy(const std::string& policy, const Scenario& scenario) {
  return Simulate(scenario, {.policy = policy, .seed = 1});
}

double EndBy(const std::string& policy, const Scenario& scenario) {
  return SecondsOf(Played(scenario, policy).end);
}

TEST(SimulationPolicyTest, AnElasticTrialUsesTheDevicesThatAreThere) {
  const Scenario scenario =
      Read(World(Entry("unit_time: 10s, widths: linear",
                       "    trials: 1\n    budget: {max: 8}\n    resources: {gpus: [0.5, 4]}\n"),
                 "{kind: A100, count: 4}"));
  EXPECT_DOUBLE_EQ(EndBy("fifo", scenario), 80);
  EXPECT_DOUBLE_EQ(EndBy("lpt", scenario), 80);
  EXPECT_DOUBLE_EQ(EndBy("fluid-static", scenario), 20);
  EXPECT_DOUBLE_EQ(EndBy("fluid-dynamic", scenario), 20);
}

TEST(SimulationPolicyTest, ElasticInCores) {
  const Scenario scenario =
      Read("nodes: [{cpus: 4}]\nstudies:\n" +
           Entry("unit_time: 10s, widths: [[1, 1], [2, 1.5], [4, 2]]",
                 "    trials: 2\n    budget: {max: 6}\n    resources: {cpus: [1, 4]}\n"));
  EXPECT_DOUBLE_EQ(EndBy("fifo", scenario), 60);
  EXPECT_DOUBLE_EQ(EndBy("fluid-static", scenario), 40);
}

// Two trials have one device each. The trial with half the work ends first. Then the other trial
// takes over its device.
TEST(SimulationPolicyTest, DynamicFluidWidensTheTrialThatIsLeft) {
  const std::string short_one = Entry("unit_time: 10s, start_up: 3s, save: 1s, widths: linear",
                                      "    trials: 1\n    budget: {max: 4}\n"
                                      "    resources: {gpus: [1, 2]}\n");
  const std::string long_one = Entry("unit_time: 10s, start_up: 3s, save: 1s, widths: linear",
                                     "    trials: 1\n    budget: {max: 8}\n"
                                     "    resources: {gpus: [1, 2]}\n",
                                     "b");
  const Scenario scenario = Read(World(short_one + long_one));
  // The long trial takes 3 s to start, 80 s of work and 1 s to save.
  EXPECT_DOUBLE_EQ(EndBy("fifo", scenario), 84);
  // At 44 s the short trial is gone. The long trial then saves its first four units (1 s) and
  // starts on both devices (3 s). The other four units take 20 s there, and 1 s to save.
  EXPECT_DOUBLE_EQ(EndBy("fluid-dynamic", scenario), 44 + 1 + 3 + 20 + 1);
}

// The first study's part of the device-seconds that two elastic studies held while both ran.
double PartOfFirst(const std::string& weights_of_first) {
  const std::string keys = "    trials: 40\n    budget: {max: 6}\n    resources: {gpus: [1, 2]}\n";
  const Scenario scenario =
      Read(World(Entry("unit_time: 10s, widths: resnet50", keys + weights_of_first) +
                     Entry("unit_time: 10s, widths: resnet50", keys, "b"),
                 "{kind: A100, count: 6}"));
  const auto result = Played(scenario, "confluence");
  const Time both = std::min(result.studies[0].finished, result.studies[1].finished);
  std::array<double, 2> held{};
  for (const Interval& each : result.usage.intervals) {
    const Duration length = std::min(each.end, both) - each.begin;
    if (length > Duration(0))
      held[Number(each.study) - 1] += Seconds(length) * static_cast<double>(each.share) / kWhole;
  }
  return held[0] / (held[0] + held[1]);
}

TEST(SimulationPolicyTest, ConfluenceGivesStudiesPartsByTheirWeights) {
  EXPECT_NEAR(PartOfFirst(""), 1.0 / 2, 0.01);
  EXPECT_NEAR(PartOfFirst("    weight: 2\n"), 2.0 / 3, 0.01);
  EXPECT_NEAR(PartOfFirst("    weight: 0.5\n"), 1.0 / 3, 0.01);
}

TEST(SimulationPolicyTest, EveryPolicyEndsEveryKindOfSearch) {
  for (const std::string& policy : PolicyNames()) {
    for (const std::string stopper :
         {"none", "asha", "asha-promotion", "sha", "hyperband", "pbt", "pbt-async", "median"}) {
      const Scenario scenario = Read(World(
          Entry("unit_time: 10s, start_up: 3s, save: 1s, restore: 1s, spread: 0.3, busy: 0.4, "
                "widths: resnet50, memory: 1GB",
                "    trials: 30\n    deadline: 2h\n    budget: {max: 27}\n    stopper: " + stopper +
                    "\n    resources: {gpus: [0.5, 4], memory: 1GB}\n"),
          "{kind: A100, count: 6}"));
      const auto result = PlayedBy(policy, scenario);
      ASSERT_TRUE(result.has_value()) << policy << " " << stopper << result.error().message;
      EXPECT_EQ(result->studies[0].finish, Finish::kTrials) << policy << " " << stopper;
    }
  }
}

TEST(SimulationPolicyTest, EveryPolicyEndsSearchesOfProfiledTrialsThatCanBeFused) {
  for (const std::string& policy : PolicyNames()) {
    for (const std::string stopper :
         {"none", "asha", "asha-promotion", "sha", "hyperband", "pbt", "pbt-async", "median"}) {
      const Scenario scenario = Read(
          "pipeline_jobs: [{name: gpt, stages: 4, micro_batches: 8, forward: 12ms, backward: 24ms, "
          "free_memory: 8GiB, lends: 3}]\n" +
          World(
              Entry("unit_time: 10s, start_up: 3s, save: 1s, restore: 1s, busy: {A100: 0.4, H100: "
                    "0.3}, bandwidth: 0.3, memory: 4GB, profiled: true",
                    "    trials: 60\n    deadline: 1d\n    budget: {max: 27}\n    stopper: " +
                        stopper + "\n    resources: {gpus: 1}\n    fuse: {most: 8, memory: 1GB}\n"),
              "[{kind: A100, count: 2}, {kind: H100}]"));
      const auto result = PlayedBy(policy, scenario);
      ASSERT_TRUE(result.has_value()) << policy << " " << stopper << result.error().message;
      EXPECT_EQ(result->studies[0].finish, Finish::kTrials) << policy << " " << stopper;
      EXPECT_EQ(Count(result->studies[0], TrialState::kFailed), 0) << policy << " " << stopper;
    }
  }
}

TEST(SimulationPolicyTest, APolicyThatNeedsABudgetSaysSo) {
  const Scenario scenario = Read(
      World(Entry("unit_time: 10s, ends_after: 3", "    trials: 1\n    resources: {gpus: 1}\n")));
  const auto result = PlayedBy("fluid-static", scenario);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(
      result.error().message,
      "study 'a': the policy fluid-static plans by what is left of each trial, and nothing says "
      "how far trials go: add 'budget: {max: 27}', or take another policy");
  const Scenario endless = Read(World(
      Entry("unit_time: 10s", "    trials: 1\n    budget: {max: 3}\n    resources: {gpus: 1}\n")));
  EXPECT_THAT(PlayedBy("hypersched", endless).error().message, HasSubstr("'deadline: 30m'"));
}

}  // namespace
}  // namespace sluice
