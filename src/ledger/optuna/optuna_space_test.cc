#include "ledger/optuna/optuna_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"

namespace sluice {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsNan;

Parameter Float(double low, double high, double step = 0) {
  return {.name = "p", .low = low, .high = high, .step = step};
}

Parameter Int(double low, double high, double step = 0) {
  return {.name = "p", .kind = ParameterKind::kInt, .low = low, .high = high, .step = step};
}

Parameter Choices(std::vector<Choice> choices) {
  return {.name = "p", .kind = ParameterKind::kCategorical, .choices = std::move(choices)};
}

std::vector<double> Joined(Parameter a, const Parameter& b) {
  SLUICE_CHECK(Widen(a, b).has_value(), "they can be joined");
  return {a.low, a.high, a.step};
}

std::string JoinRefusal(Parameter a, const Parameter& b) {
  const Status status = Widen(a, b);
  return status ? "none" : status.error().message;
}

TEST(OptunaSpace, RangesAreJoined) {
  EXPECT_THAT(Joined(Float(0, 1), Float(-1, 0.5)), ElementsAre(-1, 1, 0));
  EXPECT_THAT(Joined(Float(0, 1, 0.25), Float(0.5, 2, 0.25)), ElementsAre(0, 2, 0.25));
  EXPECT_THAT(Joined(Float(0, 1, 0.25), Float(0.1, 2, 0.25)), ElementsAre(0, 2, 0))
      << "no step reaches the values of both ranges";
  EXPECT_THAT(Joined(Float(0, 1, 0.25), Float(0, 1)), ElementsAre(0, 1, 0));
  EXPECT_THAT(Joined(Int(0, 10, 4), Int(2, 20, 6)), ElementsAre(0, 20, 2));
  EXPECT_THAT(Joined(Int(0, 10, 4), Int(1, 9, 4)), ElementsAre(0, 10, 0));
  EXPECT_THAT(Joined(Int(0, 10, 5), Int(0, 3)), ElementsAre(0, 10, 0));
  EXPECT_THAT(Joined(Int(0, 3), Int(0, 10, 5)), ElementsAre(0, 10, 0));
}

TEST(OptunaSpace, DistributionsThatCannotBeJoinedAreRefused) {
  Parameter log = Float(1, 2);
  log.law = Law::kLog;
  EXPECT_EQ(JoinRefusal(Float(1, 2), log),
            "p: expected one distribution in all trials, found float and log float, which cannot "
            "be joined");
  EXPECT_EQ(JoinRefusal(Float(1, 2), Int(1, 2)),
            "p: expected one distribution in all trials, found float and int, which cannot be "
            "joined");
  EXPECT_EQ(JoinRefusal(Choices({std::string("a"), true}), Choices({std::string("a")})),
            "p: expected one distribution in all trials, found choices a, true and choices a, "
            "which cannot be joined");
  EXPECT_EQ(JoinRefusal(Choices({true}), Choices({true})), "none");
}

std::vector<double> With(Parameter parameter, double value) {
  Widen(parameter, value);
  return {parameter.low, parameter.high, parameter.step};
}

TEST(OptunaSpace, ValuesOutsideWiden) {
  EXPECT_THAT(With(Float(0, 1), 0.5), ElementsAre(0, 1, 0));
  EXPECT_THAT(With(Float(0, 1), 3), ElementsAre(0, 3, 0));
  EXPECT_THAT(With(Float(0, 1, 0.1), 0.1 + 0.2), ElementsAre(0, 1, 0.1));
  EXPECT_THAT(With(Float(0, 1, 0.1), 0.55), ElementsAre(0, 1, 0));
  EXPECT_THAT(With(Int(0, 8, 4), 12), ElementsAre(0, 12, 4));
  EXPECT_THAT(With(Int(0, 8, 4), -2), ElementsAre(-2, 8, 2));
  Parameter log = Float(1, 2);
  log.law = Law::kLog;
  Widen(log, -1);
  EXPECT_EQ(log.law, Law::kUniform);
  EXPECT_EQ(log.low, -1);
}

TEST(OptunaSpace, OneValueIsAChoice) {
  EXPECT_EQ(AsInSpace(Float(0.5, 0.5)).choices, std::vector<Choice>{0.5});
  EXPECT_EQ(AsInSpace(Int(3, 3)).choices, std::vector<Choice>{std::int64_t{3}});
  EXPECT_EQ(AsInSpace(Int(3, 4, 9)).step, 0);
  EXPECT_EQ(AsInSpace(Int(3, 9, 3)).step, 3);
}

TEST(OptunaSpace, Points) {
  Parameter tenths = Float(0, 1, 0.1);
  tenths.name = "tenths";
  Parameter whole = Int(1, 9, 2);
  whole.name = "whole";
  Parameter choice = Choices({std::string("1"), std::int64_t{2}, true});
  choice.name = "choice";
  const auto space = Space::Make({tenths, whole, choice});
  ASSERT_TRUE(space);
  EXPECT_THAT(
      PartialPoint(*space,
                   {{"tenths", 0.1 + 0.2}, {"whole", 3.0}, {"choice", 2.0}, {"unknown", true}}),
      ElementsAre(DoubleEq(0.3), 3, 1));
  EXPECT_THAT(PartialPoint(*space, {{"tenths", 0.25}, {"whole", std::int64_t{4}}}),
              ElementsAre(IsNan(), IsNan(), IsNan()));
  EXPECT_THAT(
      PartialPoint(*space,
                   {{"tenths", std::string("0.1")}, {"whole", 11.0}, {"choice", std::int64_t{1}}}),
      ElementsAre(IsNan(), IsNan(), IsNan()));
  EXPECT_EQ(space->Encode(PartialPoint(*space, {{"choice", true}})), R"({"choice":true})");
}

}  // namespace
}  // namespace sluice
