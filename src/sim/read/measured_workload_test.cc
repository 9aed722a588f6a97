#include "sim/read/measured_workload.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "space/space.h"

namespace sluice {
namespace {

PastTrial Past(std::vector<PastReport> reports) {
  PastTrial trial{.complete = true,
                  .launch = LaunchId(1),
                  .started = FromMicros(0),
                  .work = reports.back().work,
                  .count = static_cast<int>(reports.size()),
                  .reports = {}};
  trial.busy = reports.back().time - trial.started;
  trial.reports = std::move(reports);
  return trial;
}

PastReport At(double seconds, Work work, double value = 0, std::uint32_t launch = 1) {
  return {
      .launch = LaunchId(launch), .time = Time(FromSeconds(seconds)), .work = work, .value = value};
}

// Trials that report the values of LearningCurves, at points drawn from a space of two parameters.
std::vector<PastTrial> Simulated(const CurveSpec& curve, Direction direction, int count,
                                 Work last) {
  StudySpec study;
  study.name = "past";
  study.objective = {.metric = "m", .direction = direction};
  study.space =
      *Space::Make({{.name = "a", .low = 0, .high = 1}, {.name = "b", .low = 0, .high = 1}});
  const LearningCurves curves(curve, study, 7);
  Random draws(3);
  std::vector<PastTrial> trials;
  for (int i = 0; i < count; ++i) {
    const double a = draws.Uniform();
    const double b = draws.Uniform();
    const LearningCurve own = curves.Of({a, b});
    std::vector<PastReport> reports;
    for (Work work = 1; work <= last; ++work)
      reports.push_back(At(static_cast<double>(work), work, own.At(work)));
    trials.push_back(Past(std::move(reports)));
  }
  return trials;
}

TEST(MeasuredWorkloadTest, TellsStartUpFromWork) {
  // The first trial takes 5 s to start and 2 s a unit; the second takes 8 s and 3 s.
  const std::vector<PastTrial> trials = {Past({At(7, 1), At(9, 2), At(15, 5)}),
                                         Past({At(14, 2), At(20, 4)})};
  const MeasuredWorkload measured = MeasureWorkload(trials, Direction::kMaximize);
  EXPECT_NEAR(*measured.seconds_per_unit, std::sqrt(6.0), 1e-9);  // the mean of 2 and 3 in the log
  EXPECT_NEAR(*measured.spread, std::log(1.5) / std::sqrt(2.0), 1e-9);
  EXPECT_EQ(*measured.start_up, std::chrono::seconds(8));
  EXPECT_EQ(*measured.report_every, 2);
  EXPECT_EQ(*measured.length, 5);
  EXPECT_FALSE(measured.with_start_up);
  EXPECT_FALSE(measured.curve);
}

TEST(MeasuredWorkloadTest, TimeBetweenLaunchesIsNoWork) {
  PastTrial trial = Past({At(3, 1), At(4, 2), At(100, 3, 0, 2), At(101, 4, 0, 2)});
  trial.launch = LaunchId(2);
  trial.started = FromMicros(98'000'000);
  const MeasuredWorkload measured = MeasureWorkload(std::vector{trial}, Direction::kMinimize);
  EXPECT_DOUBLE_EQ(*measured.seconds_per_unit, 1);
  EXPECT_FALSE(measured.start_up);
  EXPECT_FALSE(measured.spread);
}

TEST(MeasuredWorkloadTest, OneReportATrialTellsTheWholeTime) {
  const std::vector<PastTrial> trials = {Past({At(10, 1)}), Past({At(10, 1)})};
  const MeasuredWorkload measured = MeasureWorkload(trials, Direction::kMinimize);
  EXPECT_DOUBLE_EQ(*measured.seconds_per_unit, 10);
  EXPECT_TRUE(measured.with_start_up);
  EXPECT_EQ(*measured.start_up, Duration(0));
}

TEST(MeasuredWorkloadTest, NothingToldNothingMeasured) {
  EXPECT_FALSE(MeasureWorkload({}, Direction::kMinimize).seconds_per_unit);
  PastTrial silent{.busy = std::chrono::seconds(9), .reports = {}};
  const MeasuredWorkload measured = MeasureWorkload(std::vector{silent}, Direction::kMinimize);
  EXPECT_FALSE(measured.seconds_per_unit);
  EXPECT_FALSE(measured.report_every);
  EXPECT_FALSE(measured.length);
}

TEST(MeasuredWorkloadTest, FindsTheCurveThatTrialsCameFrom) {
  for (const Direction direction : {Direction::kMaximize, Direction::kMinimize}) {
    CurveSpec truth{.half_work = 6, .sharpness = 3, .crossing = 0, .noise = 0.01};
    if (direction == Direction::kMinimize) truth.start = 2.3, truth.best = 0.1;
    const auto fit = FitCurve(Simulated(truth, direction, 40, 27), direction);
    ASSERT_TRUE(fit);
    const double range = std::abs(truth.best - truth.start);
    EXPECT_NEAR(fit->start, truth.start, 0.15 * range);
    EXPECT_NEAR(fit->best, truth.best, 0.1 * range);
    EXPECT_NEAR(std::log2(fit->half_work / truth.half_work), 0, 0.6);
    EXPECT_NEAR(fit->sharpness, truth.sharpness, 1.5);
    EXPECT_GT(fit->noise, 0.005);
    EXPECT_LT(fit->noise, 0.03);
  }
}

TEST(MeasuredWorkloadTest, NoCurveOfTrialsThatDoNotGetBetter) {
  const CurveSpec rising;
  const auto trials = Simulated(rising, Direction::kMaximize, 10, 9);
  EXPECT_TRUE(FitCurve(trials, Direction::kMaximize));
  EXPECT_FALSE(FitCurve(trials, Direction::kMinimize));
  EXPECT_FALSE(FitCurve(std::span(trials).first(2), Direction::kMaximize));
}

// A program that has diverged reports NaN.
TEST(MeasuredWorkloadTest, ValuesThatAreNoNumbersAreLeftOut) {
  auto trials = Simulated(CurveSpec{}, Direction::kMaximize, 20, 9);
  const auto clean = FitCurve(trials, Direction::kMaximize);
  auto broken = trials.front();
  for (PastReport& report : broken.reports) report.value = std::nan("");
  trials.push_back(broken);
  const auto fit = FitCurve(trials, Direction::kMaximize);
  ASSERT_TRUE(fit);
  EXPECT_DOUBLE_EQ(fit->best, clean->best);
}

}  // namespace
}  // namespace sluice
