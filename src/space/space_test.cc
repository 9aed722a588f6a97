#include "space/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>

#include "base/random.h"
#include "base/test_numbers.h"
#include "space/test_space.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Parameter Float(std::string name, double low, double high) {
  return {.name = std::move(name), .low = low, .high = high};
}
Parameter LogFloat(std::string name, double low, double high) {
  return {.name = std::move(name), .low = low, .high = high, .law = Law::kLog};
}
Parameter StepFloat(std::string name, double low, double high, double step) {
  return {.name = std::move(name), .low = low, .high = high, .step = step};
}
Parameter Int(std::string name, double low, double high, double step = 0) {
  return {
      .name = std::move(name), .kind = ParameterKind::kInt, .low = low, .high = high, .step = step};
}
Parameter LogInt(std::string name, double low, double high) {
  return {.name = std::move(name),
          .kind = ParameterKind::kInt,
          .low = low,
          .high = high,
          .law = Law::kLog};
}
Parameter Categorical(std::string name, std::vector<Choice> choices) {
  return {
      .name = std::move(name), .kind = ParameterKind::kCategorical, .choices = std::move(choices)};
}

std::vector<double> AllValues(const Space& space, std::size_t index) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < *space.parameters()[index].Cardinality(); ++i) {
    values.push_back(space.Nth(index, i));
  }
  return values;
}

Space Everything() {
  return SpaceOf(
      {Float("momentum", 0, 1), LogFloat("lr", 1e-5, 1), StepFloat("dropout", 0, 0.5, 0.1),
       Int("layers", -3, 8), Int("width", 16, 256, 16), LogInt("batch", 1, 1024),
       Categorical("opt", {std::string("adam"), std::string("sgd"), true, std::int64_t{3}, 2.5})});
}

TEST(SpaceTest, MistakesNameTheParameterAndWhatWasFound) {
  EXPECT_THAT(MessageOf({Float("lr", 1, 0.1)}), "lr: expected low < high, found [1, 0.1]");
  EXPECT_THAT(MessageOf({Float("lr", 1, 1)}), StartsWith("lr: expected low < high"));
  EXPECT_THAT(MessageOf({Float("lr", kNan, 1)}), StartsWith("lr: expected a finite range"));
  EXPECT_THAT(MessageOf({Float("lr", 0, kInfinity)}), StartsWith("lr: expected a finite range"));
  EXPECT_THAT(MessageOf({Float("lr", -1.7e308, 1.7e308)}),
              StartsWith("lr: expected a finite range"));
  EXPECT_THAT(MessageOf({LogFloat("lr", 0, 1)}), StartsWith("lr: expected low > 0 on a log scale"));
  EXPECT_THAT(MessageOf({LogInt("n", 0, 9)}), StartsWith("n: expected low > 0"));
  EXPECT_THAT(MessageOf({StepFloat("x", 0, 1, -0.1)}), StartsWith("x: expected a step > 0"));
  EXPECT_THAT(MessageOf({StepFloat("x", 0, 1, kNan)}), StartsWith("x: expected a step > 0"));
  EXPECT_THAT(MessageOf({StepFloat("x", 0, 1, 1.5)}),
              HasSubstr("at most high - low = 1, found 1.5"));
  EXPECT_THAT(MessageOf({StepFloat("x", 0, 1, 1e-300)}), HasSubstr("2^53"));
  EXPECT_THAT(MessageOf({Int("n", 0.5, 3)}), StartsWith("n: expected whole numbers"));
  EXPECT_THAT(MessageOf({Int("n", 0, 3, 0.5)}),
              StartsWith("n: expected a whole number as the step"));
  EXPECT_THAT(MessageOf({Categorical("c", {})}), StartsWith("c: expected at least one choice"));
  EXPECT_THAT(MessageOf({Float("", 0, 1)}), HasSubstr("name"));
  EXPECT_THAT(MessageOf({Float("\xff", 0, 1)}), HasSubstr("UTF-8"));
  EXPECT_THAT(MessageOf({Categorical("c", {std::string("\xff")})}), HasSubstr("UTF-8"));
  EXPECT_THAT(MessageOf({Categorical("c", {kInfinity})}), HasSubstr("as a text"));
  EXPECT_THAT(MessageOf({Float("a", 0, 1), Float("b", 0, 1), Float("a", 0, 2)}),
              StartsWith("a: expected different names"));
}

TEST(SpaceTest, StepsOnALogScale) {
  Parameter lr = LogFloat("lr", 0.1, 1);
  lr.step = 0.1;
  EXPECT_EQ(SpaceOf({lr}).Cardinality(), 10u);
  Parameter batch = LogInt("batch", 1, 64);
  batch.step = 2;
  EXPECT_EQ(SpaceOf({batch}).Cardinality(), 32u);
  batch.step = 1;
  EXPECT_EQ(SpaceOf({batch}).Cardinality(), 64u);
}

// Two choices that read the same on a command line are refused as one choice repeated.
TEST(SpaceTest, ChoicesThatReadTheSameAreRepeated) {
  EXPECT_THAT(MessageOf({Categorical("c", {std::string("a"), std::string("a")})}),
              HasSubstr("'a' twice"));
  EXPECT_THAT(MessageOf({Categorical("c", {std::int64_t{1}, 1.0})}), HasSubstr("'1' twice"));
  EXPECT_THAT(MessageOf({Categorical("c", {true, std::string("true")})}),
              HasSubstr("'true' twice"));
  EXPECT_EQ(MessageOf({Categorical("c", {true, std::int64_t{1}})}), "no error");
}

TEST(SpaceTest, IntegersAreExactBelowTwoToThe53) {
  const double limit = 0x1.0p53;
  EXPECT_THAT(MessageOf({Int("n", 0, limit)}), HasSubstr("2^53"));
  EXPECT_THAT(MessageOf({Int("n", -limit, 0)}), HasSubstr("2^53"));
  EXPECT_THAT(MessageOf({Int("n", 1 - limit, limit - 1)}), HasSubstr("set a step"));
  const Space space = SpaceOf({Int("n", 1 - limit, limit - 1, 3)});
  const std::uint64_t last = *space.parameters()[0].Cardinality() - 1;
  EXPECT_EQ(last, 6004799503160660u);
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, last - 1, last}) {
    const Point point = {space.Nth(0, number)};
    EXPECT_TRUE(space.Contains(point));
    EXPECT_EQ(std::get<std::int64_t>(space.ValueAt(point, 0)),
              -9007199254740991 + 3 * static_cast<std::int64_t>(number));
    EXPECT_EQ(space.Decode(space.Encode(point)).value(), point);
  }
}

TEST(SpaceTest, StepsAreTheDecimalsTheUserWrote) {
  const Space space = SpaceOf({StepFloat("x", 0, 0.7, 0.1), StepFloat("y", 0.05, 1, 0.3),
                               StepFloat("z", -1, 1, 0.5), StepFloat("w", 1e-5, 5e-5, 1e-5)});
  EXPECT_THAT(AllValues(space, 0), ElementsAre(0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7));
  EXPECT_THAT(AllValues(space, 1), ElementsAre(0.05, 0.35, 0.65, 0.95));
  EXPECT_THAT(AllValues(space, 2), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(AllValues(space, 3), ElementsAre(1e-5, 2e-5, 3e-5, 4e-5, 5e-5));
}

TEST(SpaceTest, StepsDoNotDrift) {
  const Space space = SpaceOf({StepFloat("x", 0, 1e6, 0.1), StepFloat("y", 0, 1, 1.0 / 3)});
  EXPECT_EQ(space.parameters()[0].Cardinality(), 10'000'001u);
  EXPECT_EQ(space.Nth(0, 9'999'999), 999999.9);
  EXPECT_EQ(space.Nth(0, 10'000'000), 1e6);
  EXPECT_THAT(AllValues(space, 1), ElementsAre(0, 1.0 / 3, 2.0 / 3, 1));
}

TEST(SpaceTest, ASmallRangeFarFromZeroKeepsItsSteps) {
  const Space space = SpaceOf({StepFloat("x", 1e15, 1e15 + 1, 0.25)});
  EXPECT_THAT(AllValues(space, 0),
              ElementsAre(1e15, 1e15 + 0.25, 1e15 + 0.5, 1e15 + 0.75, 1e15 + 1));
}

TEST(SpaceTest, CardinalityIsTheProductOrNothing) {
  EXPECT_EQ(SpaceOf({}).Cardinality(), 1u);
  EXPECT_EQ(Everything().Cardinality(), std::nullopt);
  EXPECT_EQ(
      SpaceOf({Int("a", 1, 10), Int("b", 0, 9, 4), Categorical("c", {true, false})}).Cardinality(),
      60u);
  const double half = 0x1.0p26;
  EXPECT_EQ(SpaceOf({Int("a", 1, half), Int("b", 1, half), Int("c", 1, 2)}).Cardinality(),
            std::uint64_t{1} << 53);
  EXPECT_EQ(SpaceOf({Int("a", 1, half), Int("b", 1, half), Int("c", 1, 3)}).Cardinality(),
            std::nullopt);
}

TEST(SpaceTest, FindNamesAreExact) {
  const Space space = Everything();
  EXPECT_EQ(space.Find("lr"), 1u);
  EXPECT_EQ(space.Find("LR"), std::nullopt);
  EXPECT_EQ(space.Find(""), std::nullopt);
}

TEST(SpaceTest, EveryDrawIsInTheSpaceAndComesBack) {
  const Space space = Everything();
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<double> unit(space.size());
    for (double& coordinate : unit) coordinate = random.Uniform();
    const Point point = space.FromUnit(unit);
    ASSERT_TRUE(space.Contains(point)) << space.Encode(point);
    const Result<Point> decoded = space.Decode(space.Encode(point));
    ASSERT_TRUE(decoded) << decoded.error().message;
    ASSERT_EQ(*decoded, point);
    const std::vector<double> back = space.ToUnit(point);
    for (std::size_t j = 0; j < space.size(); ++j) {
      ASSERT_GE(back[j], 0);
      ASSERT_LT(back[j], 1);
      if (space.parameters()[j].Cardinality()) {
        ASSERT_EQ(space.FromUnit(j, back[j]), point[j]) << space.parameters()[j].name;
      } else {
        ASSERT_NEAR(back[j], unit[j], 1e-12);
      }
    }
  }
}

TEST(SpaceTest, TheEndsAreReachedAndNeverPassed) {
  const Space space = Everything();
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Parameter& parameter = space.parameters()[i];
    const double low = parameter.has_choices() ? 0 : parameter.low;
    const double high = parameter.has_choices() ? static_cast<double>(parameter.choices.size() - 1)
                                                : parameter.high;
    EXPECT_DOUBLE_EQ(space.FromUnit(i, 0), low);
    EXPECT_EQ(space.FromUnit(i, -5), space.FromUnit(i, 0));
    for (const double unit : {0x1.fffffffffffffp-1, 1.0, 2.0}) {
      EXPECT_LE(space.FromUnit(i, unit), high);
      EXPECT_NEAR(space.FromUnit(i, unit), high, 1e-9) << parameter.name;
    }
  }
}

TEST(SpaceTest, DiscreteValuesGetEqualCells) {
  const Space space = SpaceOf({Int("n", 1, 7), StepFloat("x", 0, 1, 0.25)});
  Random random(2);
  std::map<double, int> counts[2];
  constexpr int kDraws = 70'000;
  for (int i = 0; i < kDraws; ++i) {
    for (std::size_t j = 0; j < 2; ++j) ++counts[j][space.FromUnit(j, random.Uniform())];
  }
  ASSERT_EQ(counts[0].size(), 7u);
  for (const auto& [value, count] : counts[0]) EXPECT_NEAR(count, kDraws / 7.0, 500) << value;
  ASSERT_EQ(counts[1].size(), 5u);
  for (const auto& [value, count] : counts[1]) EXPECT_NEAR(count, kDraws / 5.0, 600) << value;
}

TEST(SpaceTest, LogScalesSpreadByRatio) {
  const Space space = SpaceOf({LogFloat("lr", 1e-4, 1), LogInt("n", 1, 1000)});
  EXPECT_NEAR(space.FromUnit(0, 0.5), 1e-2, 1e-9);
  Random random(3);
  int below_ten = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) below_ten += space.FromUnit(1, random.Uniform()) <= 10 ? 1 : 0;
  const double expected = (std::log(10.5) - std::log(0.5)) / (std::log(1000.5) - std::log(0.5));
  EXPECT_NEAR(below_ten, kDraws * expected, 1000);
}

TEST(SpaceTest, ContainsIsStrict) {
  const Space space = SpaceOf({StepFloat("x", 0, 0.5, 0.1), Int("n", 0, 9, 3),
                               Categorical("c", {true, false}), Float("f", 0, 1)});
  EXPECT_TRUE(space.Contains({0.3, 6, 1, 1}));
  EXPECT_FALSE(space.Contains({3 * 0.1, 6, 1, 1}));  // 0.30000000000000004
  EXPECT_FALSE(space.Contains({0.35, 6, 1, 1}));
  EXPECT_FALSE(space.Contains({0.6, 6, 1, 1}));
  EXPECT_FALSE(space.Contains({0.3, 7, 1, 1}));
  EXPECT_FALSE(space.Contains({0.3, 12, 1, 1}));
  EXPECT_FALSE(space.Contains({0.3, -3, 1, 1}));
  EXPECT_FALSE(space.Contains({0.3, 6, 2, 1}));
  EXPECT_FALSE(space.Contains({0.3, 6, 0.5, 1}));
  EXPECT_FALSE(space.Contains({0.3, 6, 1, 1.5}));
  for (std::size_t i = 0; i < 4; ++i) {
    for (const double value : {kNan, kInfinity, -kInfinity}) {
      Point point = {0.3, 6, 1, 1};
      point[i] = value;
      EXPECT_FALSE(space.Contains(point)) << i << " " << value;
    }
  }
  EXPECT_FALSE(space.Contains({0.3, 6, 1}));
}

TEST(PointCodecTest, JsonIsInParameterOrderWithTheTypesTheUserWrote) {
  const Space space = Everything();
  EXPECT_EQ(space.Encode({0.5, 1e-5, 0.3, -3, 32, 1024, 0}),
            R"({"momentum":0.5,"lr":1e-05,"dropout":0.3,"layers":-3,)"
            R"("width":32,"batch":1024,"opt":"adam"})");
  EXPECT_THAT(space.Encode({1, 1, 0, 0, 16, 1, 2}), HasSubstr(R"("momentum":1.0)"));
  EXPECT_THAT(space.Encode({1, 1, 0, 0, 16, 1, 2}), HasSubstr(R"("opt":true)"));
  EXPECT_THAT(space.Encode({1, 1, 0, 0, 16, 1, 3}), HasSubstr(R"("opt":3})"));
  EXPECT_EQ(Space().Encode({}), "{}");
  EXPECT_EQ(Space().Decode("{}").value(), Point{});
}

TEST(PointCodecTest, WhatOtherProgramsWriteIsTaken) {
  const Space space = SpaceOf({Int("n", 0, 9), StepFloat("x", 0, 0.3, 0.1), Float("f", 0, 2),
                               Categorical("c", {std::int64_t{1}, 2.0})});
  EXPECT_EQ(space.Decode(R"({"c": 2, "f": 1, "x": 0.30000000000000004, "n": 3.0})").value(),
            (Point{3, 0.3, 1, 1}));
  EXPECT_EQ(space.Decode(R"({"c": 1.0, "f": 1, "x": 0, "n": 3})").value(), (Point{3, 0, 1, 0}));
}

TEST(PointCodecTest, WhatIsNotInTheSpaceIsRefused) {
  const Space space = SpaceOf({Int("layers", 0, 9, 3), Float("lr", 0, 1),
                               Categorical("opt", {std::string("adam"), std::string("sgd")})});
  const auto message = [&](std::string_view json) {
    const Result<Point> result = space.Decode(json);
    if (result) return std::string("no error");
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    return result.error().message;
  };
  ASSERT_EQ(message(R"({"layers": 3, "lr": 0.5, "opt": "sgd"})"), "no error");
  EXPECT_EQ(message(R"({"layers": 4, "lr": 0.5, "opt": "sgd"})"),
            "layers: expected a whole number in [0, 9] in steps of 3, found 4");
  EXPECT_EQ(message(R"({"layers": 3, "lr": 0.5, "opt": "sdg"})"),
            "opt: expected one of adam, sgd, found \"sdg\"");
  EXPECT_EQ(message(R"({"layers": 3, "opt": "sgd"})"),
            "lr: expected a number in [0, 1], found no value");
  EXPECT_THAT(message(R"({"layers": 3, "lr": 0.5, "opt": "sgd", "lrr": 1})"),
              StartsWith("lrr: no parameter of the study has this name"));
  for (const char* bad :
       {R"({"layers": 12, "lr": 0.5, "opt": "sgd"})", R"({"layers": -3, "lr": 0.5, "opt": "sgd"})",
        R"({"layers": true, "lr": 0.5, "opt": "sgd"})",
        R"({"layers": "3", "lr": 0.5, "opt": "sgd"})",
        R"({"layers": 1e300, "lr": 0.5, "opt": "sgd"})",
        R"({"layers": 3, "lr": null, "opt": "sgd"})", R"({"layers": 3, "lr": "NaN", "opt": "sgd"})",
        R"({"layers": 3, "lr": 1.5, "opt": "sgd"})", R"({"layers": 3, "lr": 0.5, "opt": 0})",
        R"({"layers": 3, "lr": 0.5, "opt": ["sgd"]})",
        R"({"layers": 18446744073709551615, "lr": 0.5, "opt": "sgd"})", "[]", "3", "", "{", "{}",
        "\xff", "{\"layers\": 3, \"lr\": \"\xff\", \"opt\": \"sgd\"}"}) {
    EXPECT_NE(message(bad), "no error") << bad;
  }
  EXPECT_LT(
      message("[" + std::string(100'000, ' ') + "\"" + std::string(100'000, 'x') + "\"]").size(),
      200u);
  EXPECT_NE(message(std::string(100'000, '[')), "no error");
}

TEST(FormatValueTest, ReadsBackToTheSameValue) {
  EXPECT_EQ(FormatValue(true), "true");
  EXPECT_EQ(FormatValue(false), "false");
  EXPECT_EQ(FormatValue(std::int64_t{9007199254740993}), "9007199254740993");
  EXPECT_EQ(FormatValue(0.1), "0.1");
  EXPECT_EQ(FormatValue(1e-5), "1e-05");
  EXPECT_EQ(FormatValue(std::string("a b")), "a b");
  Random random(5);
  for (int i = 0; i < 10'000; ++i) {
    const double value = random.Normal() * std::pow(10, random.Uniform(-300, 300));
    const std::string text = FormatValue(value);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    ASSERT_EQ(back, value) << text;
  }
}

TEST(SpaceDeathTest, AValueOutsideTheSpaceIsABug) {
  const Space space = Everything();
  EXPECT_DEATH((void)space.ValueAt({kNan, 1, 0, 0, 16, 1, 2}, 0), "broken invariant");
  EXPECT_DEATH((void)space.Nth(0, 0), "broken invariant");
  EXPECT_DEATH((void)space.FromUnit(0, kNan), "broken invariant");
}

}  // namespace
}  // namespace sluice
