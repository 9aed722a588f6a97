#include "search/curves/curve_forecaster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"

namespace sluice {
namespace {

// Power laws like the simulator's: an accuracy that rises from 0.1 to at most 0.94. Half of the way
// is done after 2 to 32 units of work. The noise is 0.5 % of the range.
struct Curve {
  double start = -0.1;
  double limit = -0.94;
  double scale = 8;
  double exponent = 1;
  double True(double work) const {
    return limit + (start - limit) * std::pow(1 + work / scale, -exponent);
  }
};
constexpr double kRange = 0.84;
constexpr double kNoise = 0.005 * kRange;

Curve DrawCurve(Random& random) {
  Curve curve;
  double distance = 0;
  double ahead = 0;
  constexpr double kImportance[] = {1.7, 1.2, 0.7, 0.4};
  constexpr double kDirection[] = {0.6, -0.5, 0.4, -0.48};
  for (int i = 0; i < 4; ++i) {
    const double off = random.Uniform() - 0.4;
    distance += kImportance[i] * off * off / 4;
    ahead += kDirection[i] * off;
  }
  curve.limit = curve.start - kRange * std::exp(-4 * distance);
  curve.exponent = random.Uniform(0.7, 1.3);
  const double half = std::exp2(1 / curve.exponent) - 1;
  curve.scale = 8 / half / std::exp2(2 * std::clamp(2 * ahead, -1.0, 1.0));
  return curve;
}

// The unit in which losses are reported, and their zero.
struct Unit {
  double times = 1;
  double plus = 0;
};

CurveSketch Trained(const Curve& curve, Work upto, Random& random, Unit unit = {}) {
  CurveSketch sketch;
  for (Work work = 1; work <= upto; ++work) {
    const double loss = curve.True(static_cast<double>(work)) + kNoise * random.Normal();
    sketch.Add(work, unit.plus + unit.times * loss);
  }
  return sketch;
}

// A study as early stopping leaves it: half of the trials have two reports, and an eighth have all
// 64.
std::vector<CurveSketch> Study(int trials, Random& random, Unit unit = {}) {
  std::vector<CurveSketch> sketches;
  for (int i = 0; i < trials; ++i) {
    const Work upto = i % 8 == 0 ? 64 : i % 4 == 0 ? 16 : i % 2 == 0 ? 6 : 2;
    const Curve curve = DrawCurve(random);
    sketches.push_back(Trained(curve, upto, random, unit));
  }
  return sketches;
}

CurveForecaster Learned(const std::vector<CurveSketch>& sketches) {
  std::vector<const CurveSketch*> all;
  for (const CurveSketch& sketch : sketches) all.push_back(&sketch);
  return CurveForecaster(all);
}

std::vector<double> Ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = Ranks(a);
  const std::vector<double> y = Ranks(b);
  const double middle = static_cast<double>(a.size() - 1) / 2;
  double both = 0;
  double one = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - middle) * (y[i] - middle);
    one += (x[i] - middle) * (x[i] - middle);
  }
  return both / one;
}

struct Quality {
  double rank = 0;       // correlation of forecasts at 64 units with the truth
  double last_rank = 0;  // correlation of the last reports with the truth
  double error = 0;      // root mean square, of the forecasts at 64 units
  double last_error = 0;
  double error_now = 0;      // of the forecast at the work done
  double limit_covered = 0;  // how often the limit is within one spread
  double covered = 0;        // how often the value at 64 units is
};

Quality Measure(int known, Work after) {
  constexpr int kStudies = 40;
  constexpr int kTrials = 20;
  constexpr double kAll = kStudies * kTrials;
  Quality quality;
  for (int s = 0; s < kStudies; ++s) {
    Random random = Random(7).Fork(static_cast<std::uint64_t>(s));
    const CurveForecaster forecaster = Learned(Study(known, random));
    std::vector<double> truths, forecasts, lasts;
    for (int t = 0; t < kTrials; ++t) {
      const Curve curve = DrawCurve(random);
      CurveSketch sketch = Trained(curve, after - 1, random);
      const auto done = static_cast<double>(after);
      lasts.push_back(curve.True(done) + kNoise * random.Normal());
      sketch.Add(after, lasts.back());
      const Forecast forecast = forecaster.Of(sketch);
      EXPECT_TRUE(forecast.known);
      EXPECT_EQ(forecast.done, done);
      EXPECT_GT(forecast.spread, 0);
      truths.push_back(curve.True(64));
      forecasts.push_back(forecast.At(64));
      const double off = forecasts.back() - truths.back();
      quality.error += off * off / kAll;
      quality.last_error += std::pow(lasts.back() - truths.back(), 2) / kAll;
      quality.error_now += std::pow(forecast.At(done) - curve.True(done), 2) / kAll;
      if (std::abs(forecast.limit - curve.limit) < forecast.spread)
        quality.limit_covered += 1 / kAll;
      if (std::abs(off) < forecast.SpreadAt(64)) quality.covered += 1 / kAll;
    }
    quality.rank += RankCorrelation(forecasts, truths) / kStudies;
    quality.last_rank += RankCorrelation(lasts, truths) / kStudies;
  }
  quality.error = std::sqrt(quality.error);
  quality.last_error = std::sqrt(quality.last_error);
  quality.error_now = std::sqrt(quality.error_now);
  return quality;
}

TEST(CurveForecasterTest, ForecastsPowerLaws) {
  struct Expected {
    Work after;
    double rank;    // at least
    double factor;  // how much better than the last report, at least
  };
  for (const int known : {8, 30}) {
    for (const Expected& expected : {Expected{.after = 2, .rank = 0.55, .factor = 3},
                                     {.after = 4, .rank = 0.75, .factor = 3.5},
                                     {.after = 8, .rank = 0.9, .factor = 4.5},
                                     {.after = 16, .rank = 0.96, .factor = 5.5},
                                     {.after = 32, .rank = 0.98, .factor = 4.5}}) {
      SCOPED_TRACE(testing::Message() << known << " known, after " << expected.after);
      const Quality quality = Measure(known, expected.after);
      EXPECT_GT(quality.rank, expected.rank);
      EXPECT_GT(quality.rank, quality.last_rank + 0.02);
      EXPECT_LT(quality.error * expected.factor, quality.last_error);
      EXPECT_LT(quality.error_now, 2 * kNoise);
      EXPECT_GT(quality.limit_covered, 0.45);
      EXPECT_LT(quality.limit_covered, 0.9);
      EXPECT_GT(quality.covered, 0.65);
      EXPECT_LT(quality.covered, 0.96);
    }
  }
}

TEST(CurveForecasterTest, AFreshTrialIsOneOfTheStudys) {
  Random random(11);
  const Forecast fresh = Learned(Study(30, random)).Fresh();
  ASSERT_TRUE(fresh.known);
  EXPECT_EQ(fresh.done, 0);
  EXPECT_NEAR(fresh.At(0), -0.1, 0.05);
  int covered = 0;
  double mean = 0;
  for (int i = 0; i < 500; ++i) {
    const Curve curve = DrawCurve(random);
    mean += curve.limit / 500;
    if (std::abs(curve.limit - fresh.limit) < fresh.spread) ++covered;
  }
  EXPECT_NEAR(fresh.limit, mean, 0.08);
  EXPECT_GT(covered, 250);
  EXPECT_LT(covered, 475);
  EXPECT_LT(fresh.At(64), fresh.At(8) - 0.1);
}

TEST(CurveForecasterTest, TheUnitOfLossesDoesNotMatter) {
  for (const Unit unit : {Unit{.times = 700, .plus = 600},
                          {.times = 1e-6, .plus = -3e-6},
                          {.times = 1e9, .plus = 1e9}}) {
    Random one(3);
    Random other(3);
    const CurveForecaster plain = Learned(Study(20, one));
    const CurveForecaster moved = Learned(Study(20, other, unit));
    for (const Work upto : {0, 1, 2, 5, 20, 64}) {
      const Curve curve = DrawCurve(one);
      DrawCurve(other);
      const Forecast a = plain.Of(Trained(curve, upto, one));
      const Forecast b = moved.Of(Trained(curve, upto, other, unit));
      EXPECT_NEAR((b.limit - unit.plus) / unit.times, a.limit, 1e-5);
      EXPECT_NEAR(b.spread / unit.times, a.spread, 1e-5);
      EXPECT_NEAR((b.At(64) - unit.plus) / unit.times, a.At(64), 1e-5);
    }
  }
}

TEST(CurveForecasterTest, IsSurerOfATrialTheMoreItHasReported) {
  Random random(4);
  const CurveForecaster forecaster = Learned(Study(30, random));
  Random first(5);
  double last = forecaster.Of(Trained(Curve(), 1, first)).spread;
  for (const Work upto : {2, 8, 32, 128}) {
    Random same(5);
    const double spread = forecaster.Of(Trained(Curve(), upto, same)).spread;
    EXPECT_LT(spread, last);
    last = spread;
  }
  EXPECT_GT(last, 0.005 * kRange);
}

// The wild report comes first, in the middle or last. It is of another trial of the study, or of
// the trial whose forecast is asked for.
TEST(CurveForecasterTest, OneWildReportChangesLittle) {
  for (const Work wild : {1, 10, 16}) {
    for (const double loss : {1e6, -1e6, 1e140}) {
      Random random(6);
      std::vector<CurveSketch> study = Study(8, random);
      const CurveForecaster calm = Learned(study);
      const CurveSketch trial = Trained(Curve(), 16, random);
      CurveSketch hurt = trial;
      hurt.Add(wild, loss);
      study[4].Add(wild, loss);
      const CurveForecaster shaken = Learned(study);
      const Forecast expected = calm.Of(trial);
      for (const Forecast& forecast : {calm.Of(hurt), shaken.Of(trial), shaken.Of(hurt)}) {
        EXPECT_NEAR(forecast.limit, expected.limit, 0.7 * expected.spread) << wild << " " << loss;
        EXPECT_LT(forecast.spread, 2 * expected.spread) << wild << " " << loss;
        EXPECT_NEAR(forecast.At(64), expected.At(64), 0.02) << wild << " " << loss;
      }
    }
  }
}

TEST(CurveForecasterTest, ALoneTrialIsForecastFromItself) {
  Random random(8);
  const Curve curve;
  for (const bool wild : {false, true}) {
    CurveSketch sketch = Trained(curve, 16, random);
    if (wild) sketch.Add(1, 1e6);
    const CurveSketch* const alone[] = {&sketch};
    const CurveForecaster forecaster{alone};
    const Forecast forecast = forecaster.Of(sketch);
    EXPECT_NEAR(forecast.At(16), curve.True(16), 0.02);
    EXPECT_NEAR(forecast.At(64), curve.True(64), 0.08);
    EXPECT_NEAR(forecast.limit, curve.limit, 2 * forecast.spread);
    EXPECT_LT(forecast.spread, 0.3);
  }
}

TEST(CurveForecasterTest, ATrialThatDivergedHasNoHope) {
  Random random(9);
  std::vector<CurveSketch> study = Study(12, random);
  const Forecast before = Learned(study).Fresh();
  for (int i = 0; i < 4; ++i) {
    const Curve curve = DrawCurve(random);
    CurveSketch& sketch = study.emplace_back(Trained(curve, 8, random));
    for (const Work work : {9, 12, 16, 24}) {
      const double lost = i % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : 1e9;
      sketch.Add(work, lost);
    }
  }
  const CurveForecaster forecaster = Learned(study);
  for (std::size_t i = 12; i < 16; ++i) {
    const Forecast forecast = forecaster.Of(study[i]);
    EXPECT_TRUE(forecast.known);
    EXPECT_NEAR(forecast.limit, -0.1, 0.15);  // the worst seen: hardly better than chance
    EXPECT_EQ(forecast.At(1), forecast.limit);
    EXPECT_GT(forecast.limit - 3 * forecast.spread, before.limit + before.spread);
  }
  // What is expected of other trials has not changed.
  EXPECT_NEAR(forecaster.Fresh().limit, before.limit, 0.3 * before.spread);
}

TEST(CurveForecasterTest, ACurveThatGetsWorseIsForecastToStayFlat) {
  Random random(10);
  const CurveForecaster forecaster = Learned(Study(20, random));
  CurveSketch sketch;
  for (Work work = 1; work <= 32; ++work) sketch.Add(work, 0.01 * static_cast<double>(work));
  const Forecast forecast = forecaster.Of(sketch);
  EXPECT_LE(forecast.drop, 0);
  EXPECT_EQ(forecast.At(64), forecast.At(1000));
  EXPECT_GT(forecast.At(64), 0.1);
}

TEST(CurveForecasterTest, KnowsNothingUntilTwoLossesDiffer) {
  CurveSketch none, one, same, diverged;
  one.Add(1, 600);
  same.Add(1, 600);
  same.Add(2, 600);
  diverged.Add(1, std::numeric_limits<double>::quiet_NaN());
  const CurveSketch* const all[] = {&none, &one, &same, &diverged};
  for (std::size_t count = 0; count <= 4; ++count) {
    const CurveForecaster forecaster{std::span(all).first(count)};
    EXPECT_FALSE(forecaster.Fresh().known);
    EXPECT_FALSE(forecaster.Of(same).known);
  }
  CurveSketch other;
  other.Add(1, 500);
  const CurveSketch* const two[] = {&one, &other};
  const CurveForecaster forecaster{two};
  EXPECT_TRUE(forecaster.Fresh().known);
  EXPECT_LT(forecaster.Of(other).limit, forecaster.Of(one).limit);
}

// HyperSched's curves: they end at ten times as much work as any trial has done. A forecast can
// only tell the loss at the most work that was seen, and how sure that is.
TEST(CurveForecasterTest, CurvesFarFromTheirEndsAreForecastAsFarAsOthersWent) {
  int covered = 0;
  double error = 0;
  double last_error = 0;
  for (int s = 0; s < 30; ++s) {
    Random random = Random(13).Fork(static_cast<std::uint64_t>(s));
    const auto draw = [&] {
      Curve curve{.limit = 0.01 * random.Uniform()};
      const double base = 0.1 * random.Uniform() + 0.5;
      curve.start = 1 / base + curve.limit;
      curve.scale = -1000 * base / std::log(1 - random.Uniform());
      return curve;
    };
    std::vector<CurveSketch> study;
    for (int i = 0; i < 30; ++i) {
      const Curve curve = draw();
      study.push_back(Trained(curve, i % 4 == 0 ? 64 : 4, random));
    }
    const CurveForecaster forecaster = Learned(study);
    for (int t = 0; t < 20; ++t) {
      const Curve curve = draw();
      const Forecast forecast = forecaster.Of(Trained(curve, 4, random));
      const double off = forecast.At(64) - curve.True(64);
      if (std::abs(off) < forecast.SpreadAt(64)) ++covered;
      error += off * off;
      last_error += std::pow(curve.True(4) - curve.True(64), 2);
    }
  }
  EXPECT_GT(covered, 0.5 * 600);
  EXPECT_LT(covered, 0.9 * 600);
  EXPECT_LT(2 * std::sqrt(error), std::sqrt(last_error));
}

TEST(CurveForecasterTest, LessIsKnownOfOneThatNoPowerLawFits) {
  Random random(14);
  const CurveForecaster forecaster = Learned(Study(30, random));
  CurveSketch smooth, steps;
  for (Work work = 1; work <= 32; ++work) {
    const double loss = Curve().True(static_cast<double>(work));
    smooth.Add(work, loss);
    steps.Add(work, loss + (std::ilogb(static_cast<double>(work)) % 2 == 0 ? 0.06 : -0.06));
  }
  EXPECT_GT(forecaster.Of(steps).spread, 1.2 * forecaster.Of(smooth).spread);
}

// The strange trial is neither wild nor diverged, but unlike all others.
TEST(CurveForecasterTest, OneStrangeTrialDoesNotMakeOthersDoubtful) {
  Random random(15);
  std::vector<CurveSketch> study = Study(12, random);
  const CurveForecaster calm = Learned(study);
  CurveSketch& strange = study.emplace_back();
  for (Work work = 1; work <= 64; ++work) strange.Add(work, work / 8 % 2 == 0 ? -0.1 : 5);
  const CurveForecaster shaken = Learned(study);
  const CurveSketch trial = Trained(Curve(), 8, random);
  EXPECT_LT(shaken.Fresh().spread, 1.6 * calm.Fresh().spread);
  EXPECT_LT(shaken.Of(trial).spread, 1.3 * calm.Of(trial).spread);
  EXPECT_NEAR(shaken.Of(trial).At(64), calm.Of(trial).At(64), 0.04);
}

// Whatever work and losses are reported, all forecasts are finite numbers.
TEST(CurveForecasterTest, IsFiniteWhateverIsReported) {
  Random random(12);
  for (int round = 0; round < 300; ++round) {
    std::vector<CurveSketch> study(1 + random.Below(6));
    for (CurveSketch& sketch : study) {
      for (std::uint64_t left = random.Below(30); left > 0; --left) {
        const auto work = static_cast<Work>(random.Next() >> (1 + random.Below(63)));
        const double size = std::pow(10, random.Uniform(-140, 140) * (round % 3));
        sketch.Add(work, size * random.Normal());
      }
    }
    if (round % 10 == 0) {
      for (const Work work : {1, 2, 3}) study[0].Add(work, -1e149);
      for (const Work work : {1, 2, 3, 4}) {
        for (int i = 0; i < 8; ++i) study.emplace_back().Add(work, 1e-100 * random.Normal());
      }
    }
    const CurveForecaster forecaster = Learned(study);
    study.emplace_back();
    for (const CurveSketch& sketch : study) {
      const Forecast forecast = forecaster.Of(sketch);
      if (!forecast.known) continue;
      EXPECT_TRUE(std::isfinite(forecast.limit) && std::isfinite(forecast.drop)) << round;
      EXPECT_TRUE(std::isfinite(forecast.At(forecast.done * 2 + 1))) << round;
      EXPECT_TRUE(std::isfinite(forecast.SpreadAt(forecast.done * 2 + 1))) << round;
      EXPECT_GT(forecast.spread, 0) << round;
      EXPECT_GT(forecast.scale, 0) << round;
      EXPECT_GT(forecast.exponent, 0) << round;
    }
  }
}

}  // namespace
}  // namespace sluice
