#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/test_numbers.h"
#include "space/enumeration.h"
#include "space/space.h"
#include "space/test_space.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

// A whole number from 1 to `high`.
Parameter OneTo(std::string name, double high, std::string when = "") {
  return {.name = std::move(name),
          .kind = ParameterKind::kInt,
          .low = 1,
          .high = high,
          .when = std::move(when)};
}
Parameter Choices(std::string name, std::vector<Choice> choices, std::string when = "") {
  return {.name = std::move(name),
          .kind = ParameterKind::kCategorical,
          .choices = std::move(choices),
          .when = std::move(when)};
}

// momentum is listed before the parameter that it depends on (optimizer). nesterov depends on
// momentum.
Space Optimizers() {
  return SpaceOf({UnitFloat("momentum", "optimizer == 'sgd'"),
                  Choices("optimizer", {std::string("adam"), std::string("sgd")}),
                  Choices("nesterov", {true, false}, "momentum > 0.5"), UnitFloat("lr"),
                  UnitFloat("decay", "(optimizer == \"sgd\")")},
                 {"lr * momentum < 0.5"});
}

std::string Text(const Space& space, const Point& point) { return space.Encode(point); }

TEST(ConditionTest, GroupsAreActiveTogetherAndComeAfterWhatTheyDependOn) {
  const Space space = Optimizers();
  EXPECT_THAT(space.groups(), ElementsAre(ElementsAre(1, 3), ElementsAre(0, 4), ElementsAre(2)));
  EXPECT_THAT(space.order(), ElementsAre(1, 0, 2, 3, 4));
  EXPECT_FALSE(space.is_plain());
  EXPECT_TRUE(SpaceOf({UnitFloat("a"), UnitFloat("b", "true")}).is_plain());
  EXPECT_THAT(SpaceOf({UnitFloat("a"), UnitFloat("b", "1 < 2")}).groups(),
              ElementsAre(ElementsAre(0, 1)));
}

TEST(ConditionTest, WhatIsNotActiveHasNoValue) {
  const Space space = Optimizers();
  const Point adam = space.FromUnit({0.9, 0.1, 0.1, 0.25, 0.5});
  EXPECT_EQ(Text(space, adam), R"({"optimizer":"adam","lr":0.25})");
  const Point slow = space.FromUnit({0.25, 0.9, 0.1, 0.25, 0.5});
  EXPECT_EQ(Text(space, slow), R"({"momentum":0.25,"optimizer":"sgd","lr":0.25,"decay":0.5})");
  const Point fast = space.FromUnit({0.75, 0.9, 0.1, 0.25, 0.5});
  EXPECT_EQ(Text(space, fast),
            R"({"momentum":0.75,"optimizer":"sgd","nesterov":true,"lr":0.25,"decay":0.5})");
  for (const Point& point : {adam, slow, fast}) {
    EXPECT_TRUE(space.Contains(point));
    const std::vector<double> unit = space.ToUnit(point);
    for (std::size_t i = 0; i < space.size(); ++i) {
      EXPECT_EQ(std::isnan(unit[i]), std::isnan(point[i]));
      EXPECT_EQ(space.IsActive(point, i), !std::isnan(point[i]));
    }
    EXPECT_EQ(Text(space, space.FromUnit(unit)), Text(space, point));
    EXPECT_EQ(Text(space, space.Decode(Text(space, point)).value()), Text(space, point));
  }
}

TEST(ConditionTest, ContainsWantsExactlyTheActiveOnes) {
  const Space space = Optimizers();
  EXPECT_TRUE(space.Contains({kNan, 0, kNan, 0.5, kNan}));
  EXPECT_FALSE(space.Contains({0.3, 0, kNan, 0.5, kNan}));
  EXPECT_FALSE(space.Contains({kNan, 1, kNan, 0.5, 0.5}));
  EXPECT_TRUE(space.Contains({0.3, 1, kNan, 0.5, 0.5}));
  EXPECT_FALSE(space.Contains({0.3, 1, 0, 0.5, 0.5}));
  EXPECT_FALSE(space.Contains({0.3, kNan, kNan, 0.5, 0.5}));
  EXPECT_FALSE(space.Contains({0.6, 1, 0, 0.9, 0.5}));  // the constraint does not hold
}

TEST(ConditionTest, ConstraintsOnWhatIsNotActiveHold) {
  const Space space = Optimizers();
  EXPECT_TRUE(space.Satisfies({kNan, 0, kNan, 0.9, kNan}));
  EXPECT_FALSE(space.Satisfies({0.9, 1, 0, 0.9, 0.5}));
  EXPECT_FALSE(SpaceOf({UnitFloat("a"), UnitFloat("b")}, {"a / b > 0.1"}).Satisfies({0.5, 0}));
}

TEST(ConditionTest, AConditionOnWhatIsNotActiveDoesNotHold) {
  const Space space =
      SpaceOf({Choices("a", {true, false}), OneTo("b", 3, "a"), OneTo("c", 3, "b != 2 or a")});
  EXPECT_EQ(Text(space, space.FromUnit({0.9, 0, 0})), R"({"a":false})");
}

TEST(ConditionTest, MistakesNameTheParameter) {
  EXPECT_EQ(MessageOf({UnitFloat("lr"), UnitFloat("momentum", "optimizer == 'sgd'")}),
            "momentum: when 'optimizer == 'sgd'': column 1: expected a parameter, found optimizer; "
            "parameters: lr, momentum (values that trials report cannot be used, since they are "
            "not known before the trials run)");
  EXPECT_EQ(MessageOf({UnitFloat("lr", "lr > 0.5")}),
            "lr: when 'lr > 0.5': expected a condition on other parameters, found one on itself");
  EXPECT_EQ(MessageOf({UnitFloat("x", "c > 0"), UnitFloat("a", "b > 0"), UnitFloat("b", "c > 0"),
                       UnitFloat("c", "a > 0")}),
            "c: when 'a > 0': expected conditions that do not go round in a circle, found c -> a "
            "-> b -> c, each depending on the next; remove one of them");
  EXPECT_EQ(MessageOf({UnitFloat("lr")}, {"lr < 1", "lr * 2"}),
            "constraints: 'lr * 2': column 1: expected something true or false, found the number "
            "lr * 2; compare it, as in x < 1 or x == 'a'");
}

TEST(ConditionTest, DecodeWantsTheActiveOnesAndNoOthers) {
  const Space space = Optimizers();
  const auto message = [&](std::string_view json) {
    const Result<Point> result = space.Decode(json);
    return result ? "no error" : result.error().message;
  };
  EXPECT_EQ(message(R"({"optimizer": "adam", "lr": 0.5})"), "no error");
  EXPECT_EQ(message(R"({"optimizer": "adam", "lr": 0.5, "momentum": 0.1})"),
            "momentum: expected no value, found 0.1; leave it out, since momentum is active only "
            "when optimizer == 'sgd'");
  EXPECT_EQ(message(R"({"optimizer": "sgd", "lr": 0.5, "decay": 0.1})"),
            "momentum: expected a number in [0, 1], found no value");
  EXPECT_EQ(message(R"({"optimizer": "sgd", "lr": 0.9, "decay": 0.1, "momentum": 0.9,
                        "nesterov": true})"),
            R"(constraints: expected lr * momentum < 0.5 to hold, found {"optimizer":"sgd",)"
            R"("lr":0.9,"decay":0.1,"momentum":0.9,"nesterov":true})");
  EXPECT_EQ(message(R"({"optimizer": "adam", "lr": 0.5, "momentun": 1})"),
            "momentun: no parameter of the study has this name (did you mean 'momentum'?)");
}

TEST(EnumerationTest, DistinctPointsInTheOrderOfACounter) {
  const Space space =
      SpaceOf({Choices("opt", {std::string("adam"), std::string("sgd")}),
               OneTo("m", 3, "opt == 'sgd'"), Choices("n", {true, false}, "m >= 2"), OneTo("l", 2)},
              {"m + l < 5"});
  std::vector<std::string> seen;
  PointEnumerator points(space);
  while (points.Next()) {
    EXPECT_TRUE(space.Contains(points.point()));
    seen.push_back(Text(space, points.point()));
  }
  EXPECT_FALSE(points.Next());
  EXPECT_THAT(
      seen, ElementsAre(
                R"({"opt":"adam","l":1})", R"({"opt":"adam","l":2})",
                R"({"opt":"sgd","m":1,"l":1})", R"({"opt":"sgd","m":1,"l":2})",
                R"({"opt":"sgd","m":2,"n":true,"l":1})", R"({"opt":"sgd","m":2,"n":true,"l":2})",
                R"({"opt":"sgd","m":2,"n":false,"l":1})", R"({"opt":"sgd","m":2,"n":false,"l":2})",
                R"({"opt":"sgd","m":3,"n":true,"l":1})", R"({"opt":"sgd","m":3,"n":false,"l":1})"));
  EXPECT_EQ(space.Cardinality(), 10u);
}

TEST(EnumerationTest, CountsWhatIsSmallAndGivesUpOnTheRest) {
  EXPECT_EQ(SpaceOf({OneTo("a", 3)}, {"a > 3"}).Cardinality(), 0u);
  EXPECT_EQ(SpaceOf({OneTo("a", 3)}, {"false"}).Cardinality(), 0u);
  EXPECT_EQ(SpaceOf({OneTo("a", 3)}, {"true"}).Cardinality(), 3u);
  EXPECT_EQ(SpaceOf({UnitFloat("a")}, {"a < 1"}).Cardinality(), std::nullopt);
  EXPECT_EQ(SpaceOf({OneTo("a", 1e9), OneTo("b", 1e9)}, {"a + b < 1"}).Cardinality(), std::nullopt);
  // The points of branches that exclude each other are added up, not multiplied.
  std::vector<Parameter> branches = {OneTo("which", 20)};
  for (int i = 1; i <= 20; ++i) {
    branches.push_back(OneTo(fmt::format("x{}", i), 1000, fmt::format("which == {}", i)));
  }
  EXPECT_EQ(SpaceOf(branches).Cardinality(), 20'000u);
}

}  // namespace
}  // namespace sluice
