#include "sim/learning_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/check.h"
#include "search/sampler.h"

namespace sluice {
namespace {

StudySpec CurveStudy(const std::string& more = "", const std::string& name = "s") {
  const std::string text = "program: x\nspace:\n  lr: {float: [1e-4, 1], log: true}\n" +
                           std::string("  width: {int: [16, 256], step: 16}\n") +
                           "  act: {choice: [relu, tanh, gelu]}\n" +
                           "  momentum: {float: [0, 0.99], when: act == 'relu'}\n" +
                           "objective: {maximize: accuracy}\ntrials: 10\n" + more;
  auto spec = ReadStudy(text, "test", name);
  SLUICE_CHECK(spec.has_value(), spec ? "" : spec.error().message.c_str());
  return *spec;
}

Point Drawn(const Space& space, Random& random) {
  std::vector<double> unit(space.size());
  for (double& x : unit) x = random.Uniform();
  return space.FromUnit(unit);
}

TEST(LearningCurveTest, FollowsFromSeedStudyPointAndWorkAlone) {
  const StudySpec study = CurveStudy();
  Random random(1);
  const Point point = Drawn(study.space, random);
  const LearningCurves curves({}, study, 7);
  const LearningCurve curve = curves.Of(point);
  std::vector<double> values;
  for (Work work = 1; work <= 50; ++work) values.push_back(curve.At(work));
  // The values are the same in another order, from another object and after another trial.
  const LearningCurves again({}, study, 7);
  again.Of(Drawn(study.space, random));
  const LearningCurve same = again.Of(point);
  for (Work work = 50; work >= 1; --work)
    EXPECT_EQ(same.At(work), values[static_cast<std::size_t>(work) - 1]);
  EXPECT_NE(LearningCurves({}, study, 8).Of(point).At(5), values[4]);
  EXPECT_NE(LearningCurves({}, CurveStudy("", "other"), 7).Of(point).At(5), values[4]);
  EXPECT_NE(curves.Of(Drawn(study.space, random)).At(5), values[4]);
}

TEST(LearningCurveTest, HyperSchedsFamilyIsAsPublished) {
  CurveSpec spec;
  spec.family = "hypersched";
  const StudySpec study = CurveStudy();
  const LearningCurves curves(spec, study, 3);
  Random random(2);
  double best = 0;
  double mean_b0 = 0;
  constexpr int kTrials = 2000;
  for (int i = 0; i < kTrials; ++i) {
    const LearningCurve curve = curves.Of(Drawn(study.space, random));
    const double first = curve.At(1);
    // loss(k) is between 1/(b0 k/100 + 0.6) and 2.01 plus a little noise.
    EXPECT_LE(first, (2 - 1 / 0.62) / 2);
    EXPECT_GE(first, (2 - 2.03) / 2);
    const double late = curve.At(1'000'000);
    mean_b0 += 1 / (2 - 2 * late) / 10'000 / kTrials;
    best = std::max(best, curve.At(200));
  }
  // 1/loss is about b0 k/100. Noise changes the mean a lot where the loss is so small, so the check
  // is a rough one.
  EXPECT_GT(mean_b0, 0.005);
  // systems.md: the best of 144 reaches 0.69 within 200 epochs.
  double best_of_144 = 0;
  for (int i = 0; i < 144; ++i)
    best_of_144 = std::max(best_of_144, curves.Of(Drawn(study.space, random)).At(200));
  EXPECT_NEAR(best_of_144, 0.69, 0.06);
  EXPECT_GE(best, best_of_144 - 0.05);
}

TEST(LearningCurveTest, HyperSchedsLossIsMinimized) {
  CurveSpec spec;
  spec.family = "hypersched";
  StudySpec study = CurveStudy();
  study.objective.direction = Direction::kMinimize;
  Random random(2);
  const Point point = Drawn(study.space, random);
  const double loss = LearningCurves(spec, study, 3).Of(point).At(10);
  study.objective.direction = Direction::kMaximize;
  EXPECT_DOUBLE_EQ(LearningCurves(spec, study, 3).Of(point).At(10), (2 - loss) / 2);
}

TEST(LearningCurveTest, PowerLawsRiseFromChanceToTheirLimit) {
  CurveSpec spec;
  spec.noise = 0;
  const StudySpec study = CurveStudy();
  const LearningCurves curves(spec, study, 1);
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const LearningCurve curve = curves.Of(Drawn(study.space, random));
    EXPECT_DOUBLE_EQ(curve.At(0), spec.start);
    EXPECT_LE(curve.limit(), spec.best);
    EXPECT_GE(curve.limit(), spec.start);
    double last = spec.start;
    for (Work work = 1; work < 1000; work *= 2) {
      EXPECT_GT(curve.At(work), last);
      last = curve.At(work);
    }
    EXPECT_LT(last, curve.limit());
  }
}

TEST(LearningCurveTest, TheBestPointIsTheBest) {
  const StudySpec study = CurveStudy();
  const LearningCurves curves({}, study, 11);
  double best = 0;
  for (const double act : {0.1, 0.5, 0.9}) {
    std::vector<double> unit = curves.optimum();
    unit[2] = act;  // one choice is best, but optimum() does not say which
    best = std::max(best, curves.Of(study.space.FromUnit(unit)).limit());
  }
  EXPECT_NEAR(best, 0.94, 0.01);
}

TEST(LearningCurveTest, SomeCurvesCross) {
  CurveSpec spec;
  spec.noise = 0;
  const StudySpec study = CurveStudy();
  const LearningCurves curves(spec, study, 1);
  Random random(6);
  int crossing = 0;
  for (int i = 0; i < 200; ++i) {
    const LearningCurve a = curves.Of(Drawn(study.space, random));
    const LearningCurve b = curves.Of(Drawn(study.space, random));
    if ((a.At(3) < b.At(3)) != (a.At(300) < b.At(300))) ++crossing;
  }
  EXPECT_GT(crossing, 20);
  EXPECT_LT(crossing, 100) << "early values must say something all the same";
}

// A sampler that learns must find better points than random search.
TEST(LearningCurveTest, SamplersCanLearn) {
  const StudySpec study = CurveStudy();
  int wins = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const LearningCurves curves({}, study, seed);
    const auto best_of = [&](const char* name) {
      const auto sampler = *MakeSampler({.name = name}, study.space, seed);
      double best = 0;
      for (std::uint64_t i = 0; i < 60; ++i) {
        const Point point = *sampler->Propose(i);
        const double value = curves.Of(point).At(100);
        best = std::max(best, value);
        sampler->Observe({.trial = TrialId(static_cast<std::uint32_t>(i) + 1),
                          .point = point,
                          .outcome = Outcome::kComplete,
                          .work = 100,
                          .value = -value});
      }
      return best;
    };
    if (best_of("tpe") > best_of("random")) ++wins;
  }
  EXPECT_GE(wins, 8);
}

TEST(LearningCurveTest, AccidentsHappenAsOftenAsTheyShould) {
  CurveSpec spec;
  spec.noise = 0;
  spec.plateaus = 0.2;
  spec.divergence = 0.3;
  spec.nans = 0.1;
  const StudySpec study = CurveStudy();
  const LearningCurves curves(spec, study, 1);
  Random random(7);
  int flat = 0, fell = 0, nan = 0;
  for (int i = 0; i < 1000; ++i) {
    const LearningCurve curve = curves.Of(Drawn(study.space, random));
    bool was_flat = false, has_fallen = false, has_nan = false;
    for (Work work = 1; work < 100; ++work) {
      const double here = curve.At(work), next = curve.At(work + 1);
      if (std::isnan(next)) {
        has_nan = true;
        break;
      }
      if (next < here) has_fallen = true;
      if (!has_fallen && next == here) was_flat = true;
    }
    flat += was_flat ? 1 : 0;
    fell += has_fallen ? 1 : 0;
    nan += has_nan ? 1 : 0;
  }
  EXPECT_NEAR(nan, 100, 30);
  EXPECT_NEAR(fell, 280, 50);
  EXPECT_GT(flat, 80);
  EXPECT_LT(flat, 220);
}

TEST(LearningCurveTest, LossesFallWhenTheyAreMinimized) {
  CurveSpec spec;
  spec.start = 2.3;
  spec.best = 0.1;
  spec.noise = 0;
  StudySpec study = CurveStudy();
  study.objective.direction = Direction::kMinimize;
  Random random(8);
  const LearningCurve curve = LearningCurves(spec, study, 1).Of(Drawn(study.space, random));
  EXPECT_LT(curve.At(10), 2.3);
  EXPECT_LT(curve.At(100), curve.At(10));
  EXPECT_GE(curve.limit(), 0.1);
}

}  // namespace
}  // namespace sluice
