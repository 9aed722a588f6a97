#include "space/feasibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "space/test_space.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A whole number from 0 to `high`.
Parameter ZeroTo(std::string name, double high, std::string when = "") {
  return {.name = std::move(name),
          .kind = ParameterKind::kInt,
          .low = 0,
          .high = high,
          .when = std::move(when)};
}

std::string Problem(const std::vector<Parameter>& parameters,
                    const std::vector<std::string>& constraints) {
  const Space space = Space::Make(parameters, constraints).value();
  const Status status = CheckFeasible(space, Examine(space));
  return status ? "none" : status.error().message;
}

std::vector<std::string> Notes(const std::vector<Parameter>& parameters,
                               const std::vector<std::string>& constraints) {
  const Space space = Space::Make(parameters, constraints).value();
  return Remarks(space, Examine(space));
}

TEST(FeasibilityTest, PlainSpacesAreNotLookedAt) {
  EXPECT_EQ(Examine(Space::Make({UnitFloat("a")}).value()).looked_at, 0u);
  EXPECT_EQ(Problem({UnitFloat("a")}, {}), "none");
  EXPECT_THAT(Notes({UnitFloat("a")}, {}), IsEmpty());
}

TEST(FeasibilityTest, SmallSpacesAreCounted) {
  const Space space = Space::Make({ZeroTo("a", 9), ZeroTo("b", 9)}, {"a < b", "b / a > 2"}).value();
  const Feasibility found = Examine(space);
  EXPECT_TRUE(found.exact);
  EXPECT_EQ(found.looked_at, 100u);
  EXPECT_EQ(found.satisfying, *space.Cardinality());
  EXPECT_EQ(found.rules[0].failed, 55u);
  EXPECT_EQ(found.rules[1].undefined, 10u);
  EXPECT_EQ(found.rules[1].undefined_at, "a=0, b=0");
}

TEST(FeasibilityTest, OthersAreDrawnAlwaysTheSame) {
  const Space space = Space::Make({UnitFloat("a"), UnitFloat("b")}, {"a + b < 0.1"}).value();
  const Feasibility found = Examine(space);
  EXPECT_FALSE(found.exact);
  EXPECT_EQ(found.looked_at, 200'000u);
  EXPECT_NEAR(found.share(), 0.005, 0.001);
  EXPECT_EQ(Examine(space).satisfying, found.satisfying);
}

TEST(FeasibilityTest, NoPointAtAll) {
  EXPECT_EQ(Problem({ZeroTo("a", 9)}, {"a >= 0", "a > 10"}),
            "expected a point at which all constraints hold, found none among all 10 points: "
            "'a > 10' never holds; change the constraints or widen the ranges");
  EXPECT_THAT(Problem({ZeroTo("a", 9)}, {"a > 5", "a < 8", "a < 4"}),
              HasSubstr("'a > 5' and 'a < 4' never hold together"));
  EXPECT_THAT(Problem({ZeroTo("a", 2)}, {"a != 0", "a != 1", "a != 2"}),
              HasSubstr("each holds somewhere, but never all of them together"));
  EXPECT_THAT(Problem({UnitFloat("a"), UnitFloat("b")}, {"a > b", "b > a"}),
              HasSubstr("found none among 200000 points drawn at random: 'a > b' and 'b > a' never "
                        "hold together"));
  EXPECT_THAT(Problem({UnitFloat("a")}, {"1 > 2"}), HasSubstr("'1 > 2' never holds"));
}

TEST(FeasibilityTest, NearlyNoPoint) {
  EXPECT_EQ(
      Problem({UnitFloat("a"), UnitFloat("b"), UnitFloat("c")}, {"a < 0.02", "a + b + c < 0.05"}),
      "nearly unsatisfiable: expected at least 1 in 10000 points at which all constraints "
      "hold, found 1 of 200000 points drawn at random; 'a + b + c < 0.05' fails most. Narrow "
      "the ranges, or say with 'when' what depends on what");
  // A space that can be enumerated is accepted, however few of its points satisfy.
  EXPECT_EQ(
      Problem({ZeroTo("a", 99), ZeroTo("b", 99), ZeroTo("c", 99)}, {"a == 7", "b == a", "c == b"}),
      "none");
}

TEST(FeasibilityTest, Remarks) {
  EXPECT_THAT(Notes({UnitFloat("a"), UnitFloat("b")}, {"a + b < 0.1"}),
              ElementsAre(HasSubstr("constraints: only 0.5")));
  EXPECT_THAT(
      Notes({ZeroTo("a", 4), UnitFloat("b", "a > 4"), UnitFloat("c", "b < 1"),
             UnitFloat("d", "a > 3")},
            {}),
      ElementsAre("b: is never active among 200000 points drawn at random: its condition is "
                  "a > 4; a is from 0 to 4",
                  HasSubstr("c: is never active")));
  EXPECT_THAT(Notes({ZeroTo("a", 9), ZeroTo("b", 9)}, {"b / a >= 0"}),
              ElementsAre("constraints: 'b / a >= 0' cannot be computed at 10 of all 100 points, "
                          "such as a=0, b=0, and so does not hold there"));
}

TEST(FeasibilityTest, CostlySpacesWithoutPointsAreRefusedToo) {
  std::vector<Parameter> floats;
  std::string sum = "x0";
  for (int i = 0; i < 40; ++i) floats.push_back(UnitFloat("x" + std::to_string(i)));
  for (int i = 1; i < 40; ++i) sum += " + x" + std::to_string(i);
  EXPECT_THAT(Problem(floats, {sum + " < -1"}), HasSubstr("never holds"));

  std::vector<Parameter> bits;
  std::vector<std::string> pairs;
  for (int i = 0; i < 1000; ++i) bits.push_back(ZeroTo("b" + std::to_string(i), 1));
  for (int i = 0; i < 1000; ++i)
    pairs.push_back("b" + std::to_string(i) + " != b" + std::to_string((i + 7) % 1000));
  pairs.push_back("b0 == b7");
  EXPECT_NE(Problem(bits, pairs), "none");
}

TEST(FeasibilityTest, SlowLawsAreDrawnLessOften) {
  std::vector<Parameter> slow;
  std::string rule = "x0 > 0.5";
  for (int i = 0; i < 300; ++i) {
    slow.push_back({.name = "x" + std::to_string(i),
                    .low = 0,
                    .high = 1,
                    .law = Law::kBeta,
                    .first = 1e6,
                    .second = 1e6});
    if (i > 0) rule += " or x" + std::to_string(i) + " > 0.5";
  }
  EXPECT_LT(Examine(Space::Make(slow, {rule}).value()).looked_at, 100u);
}

}  // namespace
}  // namespace sluice
