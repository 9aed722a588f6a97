#include "engine/read/sweep/sweep_distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/read/sweep/test_sweep.h"

namespace sluice {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SweepDistributionTest, ConstantsAndValues) {
  EXPECT_THAT(X("{value: 3}").choices, ElementsAre(Choice(3L)));
  EXPECT_THAT(X("{value: true, distribution: constant}").choices, ElementsAre(Choice(true)));
  EXPECT_THAT(X("{values: [0.5, a]}").choices, ElementsAre(Choice(0.5), Choice("a")));
  EXPECT_THAT(X("{values: [1, 2], distribution: categorical}").weights, IsEmpty());
  EXPECT_THAT(X("{values: [1, 2], probabilities: [0.25, 0.75]}").weights,
              ElementsAre(DoubleEq(0.25), DoubleEq(0.75)));
  const Parameter weighted =
      X("{distribution: categorical_w_probabilities, values: [a, b, c], probabilities: [0.1, 0.6, "
        "0.3]}");
  EXPECT_EQ(weighted.kind, ParameterKind::kCategorical);
  EXPECT_THAT(weighted.weights, ElementsAre(DoubleEq(0.1), DoubleEq(0.6), DoubleEq(0.3)));
  EXPECT_EQ(ProblemOfX("{values: [1, 2], probabilities: [0.25, 0.7]}"),
            "sweep.yaml:1: x.probabilities: expected probabilities that add up to 1, found 0.95");
  EXPECT_THAT(ProblemOfX("{values: [1, 2], probabilities: [1]}"),
              HasSubstr("expected a list of 2 probabilities, one for each value, found [1]"));
  EXPECT_THAT(ProblemOfX("{distribution: categorical_w_probabilities, values: [1]}"),
              HasSubstr("x.probabilities: expected a probability for each value, found nothing"));
  EXPECT_THAT(ProblemOfX("{values: []}"), HasSubstr("x.values: expected a list of values"));
  EXPECT_THAT(ProblemOfX("{value: 1, values: [1]}"), HasSubstr("expected either value or values"));
}

TEST(SweepDistributionTest, Ranges) {
  const Parameter whole = X("{min: 1, max: 8}");
  EXPECT_EQ(whole.kind, ParameterKind::kInt);
  EXPECT_EQ(whole.low, 1);
  EXPECT_EQ(whole.high, 8);
  EXPECT_EQ(X("{min: 1, max: 8.0}").kind, ParameterKind::kFloat);
  EXPECT_EQ(X("{min: 1, max: 8, distribution: uniform}").kind, ParameterKind::kFloat);
  EXPECT_EQ(X("{min: 1, max: 8, distribution: int_uniform}").kind, ParameterKind::kInt);

  const Parameter log = X("{distribution: log_uniform, min: -9.21, max: -2.3}");
  EXPECT_EQ(log.law, Law::kLog);
  EXPECT_DOUBLE_EQ(log.low, std::exp(-9.21));
  EXPECT_DOUBLE_EQ(log.high, std::exp(-2.3));
  const Parameter values = X("{distribution: log_uniform_values, min: 1e-5, max: 0.1}");
  EXPECT_EQ(values.law, Law::kLog);
  EXPECT_EQ(values.low, 1e-5);
  EXPECT_EQ(values.high, 0.1);
  // log(1 / x) from 2 to 9: x from e^-9 to e^-2.
  const Parameter inverse = X("{distribution: inv_log_uniform, min: 2, max: 9}");
  EXPECT_EQ(inverse.law, Law::kLog);
  EXPECT_DOUBLE_EQ(inverse.low, std::exp(-9));
  EXPECT_DOUBLE_EQ(inverse.high, std::exp(-2));
  const Parameter inverse_values =
      X("{distribution: inv_log_uniform_values, min: 0.001, max: 0.5}");
  EXPECT_EQ(inverse_values.law, Law::kLog);
  EXPECT_EQ(inverse_values.low, 0.001);
  EXPECT_EQ(inverse_values.high, 0.5);
}

TEST(SweepDistributionTest, ExponentsThatLookLikeValuesAreNoted) {
  const StudySpec study =
      Good("parameters: {lr: {distribution: log_uniform, min: 0.0001, max: 0.1}}");
  ASSERT_EQ(study.notes.size(), 1U);
  EXPECT_THAT(study.notes[0], HasSubstr("lr: min and max of log_uniform are exponents of e, which "
                                        "gives values from 1.0001 to 1.10517"));
}

TEST(SweepDistributionTest, QuantizedRanges) {
  const Parameter by_eight = X("{distribution: q_uniform, min: 10, max: 100, q: 8}");
  EXPECT_EQ(by_eight.kind, ParameterKind::kInt);
  EXPECT_EQ(by_eight.law, Law::kUniform);
  EXPECT_EQ(by_eight.low, 16);
  EXPECT_EQ(by_eight.high, 96);
  EXPECT_EQ(by_eight.step, 8);
  const Parameter tenths = X("{distribution: q_uniform, min: 0.05, max: 0.7, q: 0.1}");
  EXPECT_EQ(tenths.kind, ParameterKind::kFloat);
  EXPECT_EQ(tenths.low, 0.1);
  EXPECT_EQ(tenths.high, 0.7);
  EXPECT_EQ(tenths.step, 0.1);
  EXPECT_EQ(X("{distribution: q_uniform, min: 0, max: 4.5}").high, 4);
  EXPECT_FALSE(std::signbit(X("{distribution: q_uniform, min: 0, max: 4.5}").low));
  EXPECT_THAT(X("{distribution: q_uniform, min: 0.9, max: 1.2}").choices, ElementsAre(Choice(1L)));
  EXPECT_THAT(ProblemOfX("{distribution: q_uniform, min: 0.2, max: 0.8}"),
              HasSubstr("x: expected a multiple of q = 1 from 0.2 to 0.8, found none"));

  const Parameter ones = X("{distribution: q_log_uniform_values, min: 32, max: 256}");
  EXPECT_EQ(ones.kind, ParameterKind::kInt);
  EXPECT_EQ(ones.law, Law::kLog);
  EXPECT_EQ(ones.low, 32);
  EXPECT_EQ(ones.high, 256);
  const Parameter exponents = X("{distribution: q_log_uniform, min: 3.46, max: 5.55, q: 1}");
  EXPECT_EQ(exponents.low, 32);
  EXPECT_EQ(exponents.high, 257);

  const Parameter eights = X("{distribution: q_log_uniform_values, min: 8, max: 32, q: 8}");
  EXPECT_EQ(eights.kind, ParameterKind::kOrdinal);
  EXPECT_THAT(eights.choices, ElementsAre(Choice(8L), Choice(16L), Choice(24L), Choice(32L)));
  // log(12/8), log(20/12), log(28/20) and log(32/28), each divided by log(32/8)
  EXPECT_THAT(eights.weights, ElementsAre(DoubleNear(0.2925, 1e-4), DoubleNear(0.3685, 1e-4),
                                          DoubleNear(0.2427, 1e-4), DoubleNear(0.0963, 1e-4)));
}

TEST(SweepDistributionTest, OfVeryManyMultiplesOnALogScaleSomeAreTried) {
  const Parameter rate =
      X("{distribution: q_log_uniform_values, min: 0.00001, max: 0.1, q: 0.00001}");
  EXPECT_EQ(rate.kind, ParameterKind::kOrdinal);
  EXPECT_LE(rate.choices.size(), 1000U);
  EXPECT_GT(rate.choices.size(), 500U);
  EXPECT_EQ(rate.choices.front(), Choice(0.00001));
  EXPECT_EQ(rate.choices.back(), Choice(0.1));
  double sum = 0;
  double upper = 0;  // of the largest decade, which is a quarter of the scale
  for (std::size_t i = 0; i < rate.choices.size(); ++i) {
    const double value = std::get<double>(rate.choices[i]);
    EXPECT_NEAR(value / 0.00001, std::round(value / 0.00001), 1e-6);
    sum += rate.weights[i];
    if (value >= 0.01) upper += rate.weights[i];
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_NEAR(upper, 0.25, 0.01);
  EXPECT_THAT(
      Good("parameters: {x: {distribution: q_log_uniform_values, min: 0.00001, max: 0.1, q: "
           "0.00001}}")
          .notes,
      ElementsAre(HasSubstr("x: of the 10000 multiples of q = 1e-05")));
}

TEST(SweepDistributionTest, ARepeatedValueIsDrawnAsOften) {
  const Parameter x = X("{values: [1, 2, 1, 1]}");
  EXPECT_THAT(x.choices, ElementsAre(Choice(1L), Choice(2L)));
  EXPECT_THAT(x.weights, ElementsAre(DoubleEq(0.75), DoubleEq(0.25)));
  const Parameter weighted = X("{values: [a, b, a], probabilities: [0.5, 0.25, 0.25]}");
  EXPECT_THAT(weighted.weights, ElementsAre(DoubleEq(0.75), DoubleEq(0.25)));
  EXPECT_THAT(Good("parameters: {x: {values: [1, 1]}}").notes,
              ElementsAre(HasSubstr("given several times")));
}

TEST(SweepDistributionTest, NormalsAndBetas) {
  const Parameter normal = X("{distribution: normal, mu: 2, sigma: 0.5}");
  EXPECT_EQ(normal.law, Law::kNormal);
  EXPECT_EQ(normal.first, 2);
  EXPECT_EQ(normal.second, 0.5);
  EXPECT_EQ(normal.low, -2);
  EXPECT_EQ(normal.high, 6);
  const Parameter by_default = X("{distribution: normal}");
  EXPECT_EQ(by_default.first, 0);
  EXPECT_EQ(by_default.second, 1);
  const Parameter quantized = X("{distribution: q_normal, mu: 0, sigma: 1, q: 0.5}");
  EXPECT_EQ(quantized.law, Law::kNormal);
  EXPECT_EQ(quantized.step, 0.5);
  EXPECT_EQ(quantized.low, -8);
  const Parameter log = X("{distribution: log_normal, mu: -3, sigma: 0.25}");
  EXPECT_EQ(log.law, Law::kLogNormal);
  EXPECT_EQ(log.first, -3);
  EXPECT_DOUBLE_EQ(log.low, std::exp(-5));
  EXPECT_DOUBLE_EQ(log.high, std::exp(-1));
  const Parameter quantized_log = X("{distribution: q_log_normal, mu: 3, sigma: 0.25, q: 2}");
  EXPECT_EQ(quantized_log.law, Law::kLogNormal);
  EXPECT_EQ(quantized_log.kind, ParameterKind::kInt);
  EXPECT_EQ(quantized_log.low, 4);  // the law begins at e, about 2.7
  EXPECT_EQ(quantized_log.high, 148);
  const Parameter beta = X("{distribution: beta, a: 2, b: 5}");
  EXPECT_EQ(beta.law, Law::kBeta);
  EXPECT_EQ(beta.low, 0);
  EXPECT_EQ(beta.high, 1);
  EXPECT_EQ(beta.first, 2);
  EXPECT_EQ(beta.second, 5);
  const Parameter quarters = X("{distribution: q_beta, a: 2, b: 5, q: 0.25}");
  EXPECT_EQ(quarters.law, Law::kBeta);
  EXPECT_EQ(quarters.step, 0.25);
  EXPECT_EQ(quarters.high, 1);
  EXPECT_THAT(X("{distribution: q_normal, mu: 5.2, sigma: 0.01}").choices, ElementsAre(Choice(5L)));
  EXPECT_EQ(ProblemOfX("{distribution: normal, sigma: 0}"),
            "sweep.yaml:1: x.sigma: expected a number above 0, found 0");
  EXPECT_THAT(ProblemOfX("{distribution: log_normal, sigma: 100}"),
              HasSubstr("x: expected mu and sigma that keep log_normal within"));
}

TEST(SweepDistributionTest, RefusesWhatIsNoDistribution) {
  EXPECT_THAT(ProblemOfX("{distribution: log_unifrom, min: 1, max: 2}"),
              HasSubstr("(did you mean 'log_uniform'?)"));
  EXPECT_EQ(ProblemOfX("{min: 1.0, max: 0.1}"),
            "sweep.yaml:1: x: expected min < max, found min 1 and max 0.1");
  EXPECT_THAT(ProblemOfX("{min: 1.0}"), HasSubstr("x.max: expected a number, found nothing"));
  EXPECT_THAT(ProblemOfX("{min: 1.5, max: 3, distribution: int_uniform}"),
              HasSubstr("x.min: expected a whole number"));
  EXPECT_EQ(ProblemOfX("{distribution: log_uniform_values, min: 0, max: 1}"),
            "sweep.yaml:1: x: expected min > 0 for log_uniform_values, found 0");
  EXPECT_THAT(ProblemOfX("{distribution: log_uniform, min: 1, max: 1000}"),
              HasSubstr("expected min and max of log_uniform as exponents of e"));
  EXPECT_THAT(ProblemOfX("{distribution: uniform, min: 0, max: 1, q: 2}"),
              HasSubstr("x.q: unknown key"));
  EXPECT_THAT(ProblemOfX("{valeus: [1]}"), HasSubstr("unknown key (did you mean 'values'?)"));
  EXPECT_THAT(ProblemOfX("{}"), HasSubstr("x: expected one of value, values, min and max"));
  EXPECT_THAT(ProblemOfX("3"), HasSubstr("x: expected a parameter such as"));
  EXPECT_THAT(SweepProblems("parameters: {'1x': {value: 1}}"),
              HasSubstr("expected a name of at most"));
  EXPECT_THAT(SweepProblems("parameters: {}"),
              HasSubstr("parameters: expected parameters by their names"));
}

}  // namespace
}  // namespace sluice
