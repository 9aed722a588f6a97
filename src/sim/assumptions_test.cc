#include "sim/assumptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "sim/simulation.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StudySpec StudyWith(const std::string& more = "budget: {max: 20}\n") {
  const std::string text =
      "program: x\nspace: {lr: {float: [0, 1]}}\nobjective: {maximize: accuracy}\ntrials: 10\n" +
      more;
  auto spec = ReadStudy(text, "test", "s");
  SLUICE_CHECK(spec.has_value(), spec ? "" : spec.error().message.c_str());
  return *spec;
}

std::vector<Node> Nodes(const std::string& kind = "") {
  Node node{.name = "n", .cpus = 8 * kWhole, .devices = {}};
  if (!kind.empty()) node.devices.assign(4, {.uuid = "u", .kind = kind, .memory_bytes = 1LL << 40});
  return {node};
}

KnownWorkload Given(const StudySpec& spec, const std::string& text,
                    const MeasuredWorkload& measured = {}) {
  Workload base = DefaultWorkload(spec);
  if (measured.curve) base.curve = *measured.curve;
  auto given = ReadGivenWorkload(text, "--workload", spec, base);
  SLUICE_CHECK(given.has_value(), given ? "" : given.error().message.c_str());
  return {.given = *given, .measured = measured};
}

MeasuredWorkload Measured() {
  return {.trials = 9,
          .seconds_per_unit = 3,
          .spread = 0.4,
          .start_up = std::chrono::seconds(7),
          .report_every = 5,
          .length = 15,
          .curve = CurveSpec{.start = 0.2, .best = 0.8, .half_work = 4}};
}

Assumption Find(const AssumedStudy& study, const std::string& key) {
  for (const Assumption& each : study.assumptions) {
    if (each.key == key) return each;
  }
  return {};
}

TEST(AssumptionsTest, WhatIsGivenComesFirst) {
  const StudySpec spec = StudyWith();
  const auto made = Assume(
      spec, Nodes(),
      Given(spec, "{unit_time: 30s, start_up: 9s, spread: 0.1, curve: {best: 0.95}}", Measured()));
  ASSERT_TRUE(made) << made.error().message;
  const WorkloadSpec& work = made->study.workload;
  EXPECT_DOUBLE_EQ(work.seconds_per_unit, 30);
  EXPECT_EQ(work.start_up, std::chrono::seconds(9));
  EXPECT_DOUBLE_EQ(work.spread, 0.1);
  for (const char* key : {"unit_time", "start_up", "spread", "curve"})
    EXPECT_EQ(Find(*made, key).origin, Origin::kGiven) << key;
  // The values of the curve that were not given are as measured.
  EXPECT_DOUBLE_EQ(made->study.curve.best, 0.95);
  EXPECT_DOUBLE_EQ(made->study.curve.start, 0.2);
  EXPECT_DOUBLE_EQ(made->study.curve.half_work, 4);
  EXPECT_EQ(Find(*made, "ends_after").origin, Origin::kStudyFile);
  EXPECT_FALSE(made->in_trials);
}

TEST(AssumptionsTest, ThenWhatWasMeasured) {
  const StudySpec spec = StudyWith("");
  const auto made = Assume(spec, Nodes(), Given(spec, "{}", Measured()));
  ASSERT_TRUE(made) << made.error().message;
  const WorkloadSpec& work = made->study.workload;
  EXPECT_DOUBLE_EQ(work.seconds_per_unit, 3);
  EXPECT_DOUBLE_EQ(work.spread, 0.4);
  EXPECT_EQ(work.start_up, std::chrono::seconds(7));
  EXPECT_EQ(work.report_every, 5);
  EXPECT_EQ(work.ends_after, 15);
  EXPECT_TRUE(made->knows_curve);
  for (const char* key : {"unit_time", "start_up", "spread", "report_every", "ends_after", "curve"})
    EXPECT_EQ(Find(*made, key).origin, Origin::kMeasured) << key;
}

TEST(AssumptionsTest, ThenWhatIsUsual) {
  const StudySpec spec = StudyWith();
  const auto made = Assume(spec, Nodes(), Given(spec, "{unit_time: 30s}"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->study.workload.start_up, std::chrono::seconds(10));
  EXPECT_EQ(Find(*made, "start_up").origin, Origin::kAssumed);
  EXPECT_DOUBLE_EQ(made->study.curve.half_work, 5);  // a quarter of 20
  EXPECT_FALSE(made->knows_curve);
  EXPECT_THAT(made->notes, IsEmpty());
  const auto quick = Assume(spec, Nodes(), Given(spec, "{unit_time: 10ms}"));
  EXPECT_EQ(quick->study.workload.start_up, std::chrono::milliseconds(10));
  const StudySpec longer = StudyWith("budget: {max: 1000000}\n");
  EXPECT_EQ(Assume(longer, Nodes(), Given(longer, "{}"))->study.workload.report_every, 1000);
}

TEST(AssumptionsTest, AProfileSaysTimesAndSharesByKind) {
  const StudySpec spec = StudyWith(
      "budget: {max: 20}\nresources: {gpus: 1}\n"
      "profile: {A100: {unit_time: 20s, gpus: 0.4}, H100: {unit_time: 10s, gpus: 0.25}}\n");
  const auto made = Assume(spec, Nodes("H100"), Given(spec, "{}", Measured()));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->study.workload.on, "H100");
  EXPECT_DOUBLE_EQ(made->study.workload.seconds_per_unit, 10);
  EXPECT_DOUBLE_EQ(made->study.workload.speeds.at("A100"), 0.5);
  EXPECT_DOUBLE_EQ(made->study.workload.busy, 0.25);
  EXPECT_EQ(Find(*made, "unit_time").origin, Origin::kStudyFile);
  // No kind of the profile is present here. Its first kind still tells how long a unit takes.
  const auto other = Assume(spec, Nodes("V100"), Given(spec, "{}", Measured()));
  EXPECT_EQ(other->study.workload.on, "A100");
  EXPECT_DOUBLE_EQ(other->study.workload.seconds_per_unit, 20);
}

TEST(AssumptionsTest, TimesAreMeantForTheDevicesTheyWereMeasuredOn) {
  const StudySpec spec = StudyWith("budget: {max: 20}\nresources: {gpus: 0.5}\n");
  KnownWorkload known = Given(spec, "{}", Measured());
  known.measured_on = "V100";
  EXPECT_EQ(Assume(spec, Nodes("H100"), known)->study.workload.on, "V100");
  const auto given = Assume(spec, Nodes("H100"), Given(spec, "{unit_time: 3s}"));
  EXPECT_EQ(given->study.workload.on, "H100");
  // A trial asks for half a GPU, so it is assumed to use half. Its share does not slow it down.
  EXPECT_DOUBLE_EQ(given->study.workload.busy, 0.5);
  EXPECT_DOUBLE_EQ(TrueSpeed(given->study.workload).Of({.kind = "H100", .width = 0.5}), 1 / 3.0);
}

TEST(AssumptionsTest, ElasticTrialsGainWhatHyperSchedMeasured) {
  const StudySpec spec = StudyWith("budget: {max: 20}\nresources: {gpus: [2, 4]}\n");
  const auto made = Assume(spec, Nodes("V100"), Given(spec, "{}", Measured()));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(Find(*made, "widths").origin, Origin::kAssumed);
  // The time was measured on two GPUs, the width that a trial usually has.
  EXPECT_NEAR(TrueSpeed(made->study.workload).Of({.kind = "V100", .width = 2}), 1 / 3.0, 1e-9);
  const auto linear = Assume(spec, Nodes("V100"), Given(spec, "{widths: linear}", Measured()));
  EXPECT_EQ(Find(*linear, "widths").origin, Origin::kGiven);
}

TEST(AssumptionsTest, WithoutATimeOneTrialIsTheUnit) {
  const StudySpec spec = StudyWith("budget: {max: 20}\ntimeouts: {trial: 1s}\n");
  const auto made = Assume(spec, Nodes(), Given(spec, "{spread: 0}"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->in_trials);
  EXPECT_EQ(made->study.spec.timeouts.trial, Duration(0));
  Scenario scenario;
  scenario.nodes = Nodes();
  scenario.studies = {made->study};
  const auto result = Simulate(scenario, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end - Time{}, 2 * kOneTrial);  // ten trials on eight cores
  EXPECT_THAT(made->notes, ElementsAre(HasSubstr("take no time here")));
}

TEST(AssumptionsTest, WhatCannotBeAssumedIsAskedFor) {
  const auto error = [](const std::string& study, const std::string& given) {
    const StudySpec spec = StudyWith(study);
    const auto made = Assume(spec, Nodes(), Given(spec, given));
    return made ? "" : made.error().message;
  };
  EXPECT_THAT(error("budget: {max: 9}\ndeadline: 30m\n", "{}"), HasSubstr("--unit-time 30s"));
  EXPECT_THAT(error("budget: {max: 9}\n", "{start_up: 9s}"), HasSubstr("a time for start_up"));
  EXPECT_THAT(error("stopper: median\n", "{}"), HasSubstr("how far trials go"));
  EXPECT_EQ(error("stopper: median\n", "{ends_after: 9}"), "");
  EXPECT_EQ(error("", "{}"), "");
  EXPECT_THAT(error("budget: {max: 100000000}\n", "{report_every: 1}"),
              HasSubstr("{report_every: 101}"));
  EXPECT_THAT(error("budget: {max: 100000000}\n", "{unit_time: 1h}"), HasSubstr("100 years"));
}

TEST(AssumptionsTest, WhatIsNotSimulatedIsSaid) {
  const StudySpec spec = StudyWith(
      "budget: {max: 9}\ndeadline: 30m\nstop_at: {accuracy: 0.9, loss: {below: 1}}\n"
      "warm_start: {study: old}\n");
  const auto made = Assume(spec, Nodes(), Given(spec, "{unit_time: 1s}"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->study.spec.stop_at, IsEmpty());
  EXPECT_THAT(made->notes, ElementsAre(HasSubstr("stop_at"), HasSubstr("warm_start"),
                                       HasSubstr("do not expect them in your study")));
  const auto known = Assume(spec, Nodes(), Given(spec, "{unit_time: 1s}", Measured()));
  ASSERT_EQ(known->study.spec.stop_at.size(), 1U);
  EXPECT_EQ(known->study.spec.stop_at.front().metric, "accuracy");
}

TEST(AssumptionsTest, GivenKeysAreThoseOfAScenario) {
  const StudySpec spec = StudyWith();
  const auto error = [&](const std::string& text) {
    const auto given = ReadGivenWorkload(text, "--workload", spec, DefaultWorkload(spec));
    return given ? "" : given.error().message;
  };
  EXPECT_EQ(error("{spred: 1}"), "--workload:1: spred: unknown key (did you mean 'spread'?)");
  EXPECT_THAT(error("fast"), HasSubstr("--workload:1: expected a map"));
  EXPECT_THAT(error("{profiled: true}"), HasSubstr("the study's own 'profile'"));
  EXPECT_THAT(error("{curve: {start: 1, best: 0.5}}"), HasSubstr("expected start < best"));
}

}  // namespace
}  // namespace sluice
