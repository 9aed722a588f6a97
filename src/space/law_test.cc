#include "space/law.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "base/test_numbers.h"
#include "space/special.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

Parameter OfLaw(Law law, double low, double high, double first = 0, double second = 0,
                double step = 0) {
  return {.name = "x",
          .low = low,
          .high = high,
          .law = law,
          .step = step,
          .first = first,
          .second = second};
}

std::string ParameterProblem(const Parameter& parameter) {
  const Status status = CheckParameter(parameter);
  return status ? "none" : status.error().message;
}

// The expected numbers are known to more digits than the test compares.
TEST(SpecialTest, NormalLaw) {
  EXPECT_DOUBLE_EQ(NormalCdf(0), 0.5);
  EXPECT_NEAR(NormalCdf(1.959963984540054), 0.975, 1e-15);
  EXPECT_NEAR(NormalCdf(-6) / 9.865876450376946e-10, 1, 1e-12);
  EXPECT_NEAR(NormalCdf(-37) / 5.725571222524e-300, 1, 1e-10);
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(NormalQuantile(1e-10), -6.361340902404056, 1e-12);
  EXPECT_NEAR(NormalQuantile(0.5), 0, 1e-15);
  EXPECT_EQ(NormalQuantile(0), -kInfinity);
  EXPECT_EQ(NormalQuantile(1), kInfinity);
  for (int i = -370; i <= 50; ++i) {
    const double z = i / 10.0;
    EXPECT_NEAR(NormalQuantile(NormalCdf(z)), z, 1e-9) << z;
  }
}

TEST(SpecialTest, BetaLaw) {
  EXPECT_NEAR(BetaCdf(0.3, 1, 1), 0.3, 1e-15);
  EXPECT_NEAR(BetaCdf(0.5, 2, 3), 0.6875, 1e-14);  // 11 / 16
  EXPECT_NEAR(BetaCdf(0.2, 2, 5), 0.34464, 1e-14);
  EXPECT_NEAR(BetaCdf(0.25, 0.5, 0.5), 1.0 / 3, 1e-14);  // 2 / pi asin(sqrt(x))
  EXPECT_NEAR(BetaCdf(0.9, 10, 1), std::pow(0.9, 10), 1e-14);
  EXPECT_NEAR(BetaCdf(0.1, 1, 10), 1 - std::pow(0.9, 10), 1e-14);
  EXPECT_NEAR(BetaCdf(0.5, 1000, 1000), 0.5, 1e-11);
  EXPECT_EQ(BetaCdf(0, 2, 3), 0);
  EXPECT_EQ(BetaCdf(1, 2, 3), 1);
  EXPECT_NEAR(BetaQuantile(0.6875, 2, 3), 0.5, 1e-13);
  EXPECT_NEAR(BetaQuantile(0.3, 1, 1), 0.3, 1e-14);
  EXPECT_EQ(BetaQuantile(0, 2, 3), 0);
  EXPECT_EQ(BetaQuantile(1, 2, 3), 1);
}

TEST(SpecialTest, BetaQuantileIsTheInverseWhateverTheShape) {
  for (const double a : {0.01, 0.3, 1.0, 2.5, 40.0, 1e4, 1e6}) {
    for (const double b : {0.01, 0.3, 1.0, 2.5, 40.0, 1e4, 1e6}) {
      double before = 0;
      for (int i = 1; i < 30; ++i) {
        const double share = i / 30.0;
        const double x = BetaQuantile(share, a, b);
        ASSERT_GE(x, before) << a << " " << b << " " << share;
        before = x;
        // Where the law is steep, neighbouring numbers x have distant shares. So x is only as near
        // as possible.
        const double below = BetaCdf(std::nextafter(x, 0), a, b);
        const double above = BetaCdf(std::nextafter(x, 1), a, b);
        ASSERT_LE(below, share + 1e-7) << a << " " << b << " " << share;
        ASSERT_GE(above, share - 1e-7) << a << " " << b << " " << share;
      }
    }
  }
}

TEST(LawTest, ValuesAtKnownShares) {
  EXPECT_NEAR(FromUnit(OfLaw(Law::kLog, 1e-4, 1), 0.5), 1e-2, 1e-15);
  EXPECT_NEAR(FromUnit(OfLaw(Law::kInverseLog, 1e-4, 1), 0.5), 1.0001 - 1e-2, 1e-14);
  const Parameter normal = OfLaw(Law::kNormal, -80, 80, 0, 10);
  EXPECT_NEAR(FromUnit(normal, 0.5), 0, 1e-13);
  EXPECT_NEAR(FromUnit(normal, 0.975), 19.59963984540054, 1e-10);
  EXPECT_NEAR(ToUnit(normal, -10), 0.15865525393145707, 1e-14);
  // The range is the upper half of the law, so its median is the 75 % point of the whole law.
  EXPECT_NEAR(FromUnit(OfLaw(Law::kNormal, 0, 100, 0, 1), 0.5), 0.6744897501960817, 1e-13);
  EXPECT_NEAR(FromUnit(OfLaw(Law::kLogNormal, 0, 1e9, 1, 0.5), 0.5), std::exp(1), 1e-12);
  EXPECT_NEAR(FromUnit(OfLaw(Law::kBeta, 10, 20, 2, 3), 0.6875), 15, 1e-12);
}

TEST(LawTest, EveryLawIsMonotoneAndComesBack) {
  for (const Parameter& parameter :
       {OfLaw(Law::kInverseLog, 1e-5, 1), OfLaw(Law::kNormal, -3, 5, 1, 2),
        OfLaw(Law::kNormal, 6, 9, 0, 1), OfLaw(Law::kNormal, -9, -6, 0, 1),
        OfLaw(Law::kNormal, 30, 35, 0, 1), OfLaw(Law::kLogNormal, 0, 10, 0, 1),
        OfLaw(Law::kLogNormal, 1, 2, 5, 1), OfLaw(Law::kBeta, -1, 3, 0.5, 0.5),
        OfLaw(Law::kBeta, 0, 1, 5, 2)}) {
    ASSERT_EQ(ParameterProblem(parameter), "none");
    double before = -kInfinity;
    for (int i = 0; i <= 1000; ++i) {
      const double unit = i / 1000.0;
      const double value = FromUnit(parameter, unit);
      ASSERT_GE(value, parameter.low);
      ASSERT_LE(value, parameter.high);
      ASSERT_GE(value, before);
      before = value;
      ASSERT_NEAR(ToUnit(parameter, value), unit, 1e-9) << parameter.low << " " << unit;
    }
    EXPECT_NEAR(FromUnit(parameter, 0), parameter.low, 1e-9);
  }
}

TEST(LawTest, StepsTakeTheMassAroundThem) {
  for (const Parameter& parameter :
       {OfLaw(Law::kLog, 0.1, 1, 0, 0, 0.1), OfLaw(Law::kInverseLog, 0.1, 1, 0, 0, 0.1),
        OfLaw(Law::kNormal, 0, 1, 0.3, 0.2, 0.1), OfLaw(Law::kLogNormal, 0, 5, 0, 1, 0.5),
        OfLaw(Law::kBeta, 0, 1, 2, 2, 0.1),
        Parameter{.name = "n",
                  .kind = ParameterKind::kInt,
                  .low = 1,
                  .high = 9,
                  .law = Law::kNormal,
                  .first = 5,
                  .second = 2},
        Parameter{.name = "n",
                  .kind = ParameterKind::kInt,
                  .low = 1,
                  .high = 64,
                  .law = Law::kLog,
                  .step = 7}}) {
    ASSERT_EQ(ParameterProblem(parameter), "none");
    double before = -kInfinity;
    for (int i = 0; i <= 2000; ++i) {
      const double value = FromUnit(parameter, i / 2000.0);
      ASSERT_TRUE(ContainsValue(parameter, value));
      ASSERT_GE(value, before);
      before = value;
    }
    for (std::uint64_t number = 0; number < *parameter.Cardinality(); ++number) {
      const double value = NthValue(parameter, number);
      EXPECT_EQ(FromUnit(parameter, ToUnit(parameter, value)), value);
    }
  }
  const Parameter coin{.name = "n",
                       .kind = ParameterKind::kInt,
                       .low = 0,
                       .high = 2,
                       .law = Law::kNormal,
                       .first = 1,
                       .second = 1};
  std::map<double, int> counts;
  Random random(1);
  for (int i = 0; i < 100'000; ++i) ++counts[FromUnit(coin, random.Uniform())];
  const double all = NormalCdf(1.5) - NormalCdf(-1.5);
  EXPECT_NEAR(counts[1] / 1e5, (NormalCdf(0.5) - NormalCdf(-0.5)) / all, 0.01);
  EXPECT_NEAR(counts[0] / 1e5, (NormalCdf(-0.5) - NormalCdf(-1.5)) / all, 0.01);
}

TEST(LawTest, ChoicesByTheirWeights) {
  const Parameter parameter{
      .name = "c",
      .kind = ParameterKind::kCategorical,
      .choices = {std::string("a"), std::string("b"), std::string("c"), std::string("d")},
      .weights = {0.5, 0, 0.3, 0.2}};
  ASSERT_EQ(ParameterProblem(parameter), "none");
  EXPECT_EQ(FromUnit(parameter, 0), 0);
  EXPECT_EQ(FromUnit(parameter, 0.49), 0);
  EXPECT_EQ(FromUnit(parameter, 0.51), 2);
  EXPECT_EQ(FromUnit(parameter, 0.81), 3);
  EXPECT_EQ(FromUnit(parameter, 1), 3);
  for (const double choice : {0.0, 2.0, 3.0})
    EXPECT_EQ(FromUnit(parameter, ToUnit(parameter, choice)), choice);
}

TEST(LawTest, Mistakes) {
  EXPECT_EQ(ParameterProblem(OfLaw(Law::kInverseLog, 0, 1)),
            "x: expected low > 0 on a log scale, found [0, 1]");
  EXPECT_EQ(ParameterProblem(OfLaw(Law::kLogNormal, -1, 1, 0, 1)),
            "x: expected low >= 0 for a lognormal, found [-1, 1]");
  EXPECT_EQ(ParameterProblem(OfLaw(Law::kNormal, 0, 1, 0, 0)), "x: expected sigma > 0, found 0");
  EXPECT_EQ(ParameterProblem(OfLaw(Law::kNormal, 0, 1, 0, -1)), "x: expected sigma > 0, found -1");
  EXPECT_EQ(ParameterProblem(OfLaw(Law::kNormal, 0, 1, kInfinity, 1)),
            "x: expected a finite mean, found inf");
  EXPECT_EQ(ParameterProblem(OfLaw(Law::kNormal, 50, 60, 0, 1)),
            "x: expected a range that its law reaches, found [50, 60] with mean 0 and sigma 1: all "
            "of it is too far from the mean");
  EXPECT_EQ(ParameterProblem(OfLaw(Law::kBeta, 0, 1, 0, 1)),
            "x: expected alpha above 0 and at most 1000000, found 0");
  EXPECT_THAT(ParameterProblem(OfLaw(Law::kBeta, 0, 1, 1, NAN)),
              HasSubstr("expected beta above 0"));
  Parameter choice{.name = "c", .kind = ParameterKind::kCategorical, .choices = {true, false}};
  choice.weights = {1};
  EXPECT_EQ(ParameterProblem(choice), "c: expected a weight for each of its 2 choices, found 1");
  choice.weights = {1.5, -0.5};
  EXPECT_EQ(ParameterProblem(choice), "c: expected weights of at least 0, found -0.5");
  choice.weights = {0.5, 0.4};
  EXPECT_EQ(ParameterProblem(choice), "c: expected weights that add up to 1, found 0.9");
  choice.weights = {1, 0};
  EXPECT_EQ(ParameterProblem(choice), "none");
}

}  // namespace
}  // namespace sluice
