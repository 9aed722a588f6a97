#include "engine/parts/memory_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr std::int64_t kMiB = 1 << 20;

Demand Fused(std::int64_t memory_bytes, std::int64_t fused_bytes) {
  return {
      .gpus = kWhole, .memory_bytes = memory_bytes, .fused_most = 64, .fused_bytes = fused_bytes};
}

TEST(MemoryMeterTest, TwoNumbersOfTrialsTellTheProgramFromItsTrials) {
  const Demand corrected = CorrectedByMemory(Fused(900, 500), {{2, 140}, {10, 300}});
  EXPECT_EQ(corrected.fused_bytes, 20);
  EXPECT_EQ(corrected.memory_bytes, 120) << "100 for the program";
}

TEST(MemoryMeterTest, EveryMeasurementIsCovered) {
  const Demand corrected = CorrectedByMemory(Fused(900, 500), {{1, 100}, {2, 300}, {11, 300}});
  EXPECT_EQ(corrected.fused_bytes, 20);
  EXPECT_EQ(corrected.memory_bytes, 280);
  const Demand falling = CorrectedByMemory(Fused(900, 500), {{1, 300}, {8, 200}});
  EXPECT_EQ(falling.fused_bytes, 0) << "more trials never take less";
  EXPECT_EQ(falling.memory_bytes, 300);
}

TEST(MemoryMeterTest, OneNumberOfTrialsScalesWhatTheFileStates) {
  const Demand corrected = CorrectedByMemory(Fused(200, 100), {{9, 500}});
  EXPECT_EQ(corrected.memory_bytes, 100) << "half of what the file says";
  EXPECT_EQ(corrected.fused_bytes, 50);
}

TEST(MemoryMeterTest, WithoutAStatementAllMemoryIsThatOfTheTrials) {
  const Demand corrected = CorrectedByMemory(Fused(0, 0), {{10, 500}});
  EXPECT_EQ(corrected.memory_bytes, 50);
  EXPECT_EQ(corrected.fused_bytes, 50);
  EXPECT_EQ(CorrectedByMemory(Fused(0, 0), {}), Fused(0, 0));
}

TEST(MemoryMeterTest, ATrialThatIsNotFusedHasOneNumber) {
  const Demand corrected = CorrectedByMemory({.gpus = 500, .memory_bytes = 70}, {{1, 90}});
  EXPECT_EQ(corrected.memory_bytes, 90);
  EXPECT_EQ(corrected.fused_bytes, 0);
}

// A study with bundles on a node with one H200 that has 1 GiB.
class MemoryInTheEngineTest : public ::testing::Test {
 protected:
  MemoryInTheEngineTest() { ProposeAll(); }

  // Answers proposals until the engine asks for no more.
  void ProposeAll() {
    while (test_.Study().answered < test_.Study().asked) test_.Propose(test_.Study().answered);
  }
  void Measures(int trials, std::int64_t bytes, double work_per_second = 0) {
    test_.Happen(
        Profiled{TestEngine::Key(1), test_.Trial(1).launch.id, test_.Next(1),
                 test_.engine().MeasuredBy(TestEngine::Key(1), trials, bytes, work_per_second)});
    ProposeAll();
  }
  std::size_t Running() const { return test_.Study().running.size(); }
  std::vector<std::int64_t> MemoryOfGrants() const {
    std::vector<std::int64_t> bytes;
    for (const TrialId id : test_.Study().running)
      bytes.push_back(test_.Study().trial(id).launch.grant.memory_bytes);
    return bytes;
  }
  std::int64_t Used() { return test_.engine().cluster().Used(NodeId(1))[0].memory_bytes; }
  void ExpectSameAfterLoading() {
    const auto again = NewEngine();
    ASSERT_TRUE(again->Load(test_.engine().Save(), {test_.created()}));
    EXPECT_EQ(again->Digest(), test_.engine().Digest());
    EXPECT_EQ(again->study(kStudy)->demand, test_.Study().demand);
  }

  TestEngine test_{
      "policy: hydro\ntrials: 32\nfuse: {most: 16, memory: 200MiB}\n"
      "resources: {cpus: 1, gpus: 1, memory: 400MiB}\n",
      NodeOf(2 * kWhole, 1)};
};

TEST_F(MemoryInTheEngineTest, ABundleGrowsWhenItTakesLessThanStated) {
  EXPECT_EQ(Running(), 3U) << "400 MiB, and twice 200 MiB, of 1 GiB less a margin";
  Measures(3, 160 * kMiB);
  EXPECT_EQ(test_.Study().demand.memory_bytes, 80 * kMiB);
  EXPECT_EQ(Running(), 16U) << "80 MiB, and 40 MiB for each more";
  EXPECT_THAT(MemoryOfGrants(), Each(40 * kMiB));
  EXPECT_EQ(Used(), (80 + 15 * 40) * kMiB);
  ExpectSameAfterLoading();
}

TEST_F(MemoryInTheEngineTest, ABundleThatTakesMoreKeepsItsTrialsAndGetsNoMore) {
  Measures(3, 1024 * kMiB);
  EXPECT_EQ(Running(), 3U);
  EXPECT_EQ(Used(), 1024 * kMiB);
  test_.End(3);
  EXPECT_EQ(Running(), 2U) << "two take 768 MiB, and a third one 256 MiB: no margin is left";
  for (const TrialId id : test_.Study().running) EXPECT_FALSE(test_.Study().trial(id).leaving);
  ExpectSameAfterLoading();
}

TEST_F(MemoryInTheEngineTest, MoreThanTheDeviceHasCountsAsAllOfIt) {
  Measures(3, 5'000 * kMiB);
  EXPECT_EQ(test_.Study().measured_bytes.at(3), 1024 * kMiB);
}

TEST_F(MemoryInTheEngineTest, TheLargestMeasurementCounts) {
  Measures(3, 160 * kMiB);
  Measures(3, 120 * kMiB);
  EXPECT_EQ(test_.Study().measured_bytes.at(3), 160 * kMiB);
  Measures(1'000, 120 * kMiB);
  EXPECT_EQ(test_.Study().measured_bytes.size(), 1U) << "the study fuses 16 at most";
}

TEST_F(MemoryInTheEngineTest, AResumedStudyIsMeasuredAnew) {
  Measures(3, 160 * kMiB);
  test_.Happen(StudyResumed{kStudy, {}, {}});
  EXPECT_EQ(Used(), (80 + 15 * 40) * kMiB) << "those that run take what they took";
  ExpectSameAfterLoading();
  Measures(17, 320 * kMiB);
  EXPECT_THAT(test_.Study().measured_bytes, ElementsAre(std::pair(3, 160 * kMiB)));
  Measures(16, 320 * kMiB);
  EXPECT_THAT(test_.Study().measured_bytes, ElementsAre(std::pair(16, 320 * kMiB)));
  test_.Drain();
  while (!test_.Study().running.empty())
    test_.End(static_cast<int>(Number(test_.Study().running[0])), Ending::kPaused);
  test_.Happen(StudyResumed{kStudy, {}, {}});
  EXPECT_EQ(test_.Study().demand, test_.created().spec.demand);
  ExpectSameAfterLoading();
}

TEST_F(MemoryInTheEngineTest, WhatWasInheritedCountsUntilTheStudyHasMeasured) {
  const auto measured = [](int trials, std::int64_t bytes) {
    return Measurement{.situation = {.shape = "s", .kind = "H200", .fused = trials},
                       .bytes = bytes};
  };
  test_.Happen(MeasurementsGiven{
      kStudy, "study 'before'", {measured(1, 60 * kMiB), measured(5, 100 * kMiB)}});
  ProposeAll();
  EXPECT_EQ(test_.Study().demand.memory_bytes, 60 * kMiB);
  EXPECT_EQ(test_.Study().demand.fused_bytes, 10 * kMiB);
  EXPECT_EQ(Running(), 16U);
  ExpectSameAfterLoading();
  Measures(16, 320 * kMiB);
  EXPECT_THAT(test_.Study().measured_bytes, ElementsAre(std::pair(16, 320 * kMiB)));
  ExpectSameAfterLoading();
}

TEST_F(MemoryInTheEngineTest, OnCoresMemoryIsNotCounted) {
  TestEngine cores("policy: hydro\ntrials: 8\nfuse: 4\n");
  cores.Propose(8);
  const Measurement measured = cores.engine().MeasuredBy(TestEngine::Key(1), 4, kMiB, 2);
  EXPECT_EQ(measured.bytes, 0);
  EXPECT_EQ(measured.situation.kind, "");
  EXPECT_EQ(measured.situation.fused, 4);
  EXPECT_EQ(measured.work_per_second, 2);
}

// Some policies move trials. Such a policy must find running trials where they are.
TEST(MemoryOfMovableTrialsTest, ACorrectionMovesNothing) {
  TestEngine test(
      "policy: confluence\ntrials: 8\nfuse: {most: 4, memory: 100MiB}\n"
      "resources: {cpus: 1, gpus: 1, memory: 100MiB}\nbudget: {max: 81}\n",
      NodeOf(4 * kWhole, 2));
  test.Propose(8);
  ASSERT_FALSE(test.Study().running.empty());
  for (int trial = 1; trial <= static_cast<int>(test.Study().running.size()); ++trial) {
    test.Save(trial, 1, 1);
    test.Report(trial, 1, 0.5);
  }
  const auto before = test.Study().running;
  const auto lines =
      test.Happen(Profiled{TestEngine::Key(1), test.Trial(1).launch.id, test.Next(1),
                           test.engine().MeasuredBy(TestEngine::Key(1), 1, 150 * kMiB, 1)});
  EXPECT_THAT(lines, Each(::testing::Not(::testing::HasSubstr("stop"))));
  EXPECT_EQ(test.Study().demand.memory_bytes, 150 * kMiB);
  for (const TrialId id : before) EXPECT_FALSE(test.Study().trial(id).leaving);
}

}  // namespace
}  // namespace sluice
