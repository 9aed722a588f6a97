#include "space/point_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "space/test_space.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Space Example() {
  return SpaceOf({{.name = "lr", .low = 0, .high = 1},
                  {.name = "width", .kind = ParameterKind::kInt, .low = 16, .high = 64, .step = 16},
                  {.name = "act",
                   .kind = ParameterKind::kCategorical,
                   .choices = {Choice("relu"), Choice("3"), Choice(0.5), Choice(true)}}});
}

template <typename T>
std::string ErrorOf(const Result<T>& result) {
  EXPECT_FALSE(result);
  return result ? "" : result.error().message;
}

TEST(PointPartTest, WhatIsGivenIsKeptAndTheRestIsDrawnFromTheStream) {
  const Space space = Example();
  const PointPart part = *DecodePart(space, R"({"act": "3", "width": 32.0})");
  const Point first = *FillIn(space, part, Random(1));
  EXPECT_EQ(first[1], 32);
  EXPECT_EQ(first[2], 1);
  EXPECT_TRUE(space.Contains(first));
  EXPECT_EQ(*FillIn(space, part, Random(1)), first);
  EXPECT_NE(*FillIn(space, part, Random(2)), first);
  // Giving one more value does not change the values drawn for the others.
  EXPECT_EQ((*FillIn(space, *DecodePart(space, R"({"act": "3"})"), Random(1)))[0], first[0]);
}

TEST(PointPartTest, NullIsLeftToBeDrawn) {
  EXPECT_EQ(*DecodePart(Example(), R"({"lr": null, "width": 16})"),
            (PointPart{std::nullopt, 16.0, std::nullopt}));
}

TEST(PointPartTest, APartIsWrittenWithItsTypes) {
  const Space space = Example();
  const std::string text = R"({"lr":0.5,"width":48,"act":true})";
  EXPECT_EQ(EncodePart(space, *DecodePart(space, text)), text);
  EXPECT_EQ(EncodePart(space, PointPart(3)), "{}");
}

TEST(PointPartTest, BadParts) {
  const Space space = Example();
  EXPECT_THAT(ErrorOf(DecodePart(space, "[1]")), HasSubstr("expected a JSON object"));
  EXPECT_THAT(ErrorOf(DecodePart(space, "lr=1")), HasSubstr("text that is no JSON"));
  EXPECT_EQ(ErrorOf(DecodePart(space, R"({"lr": 2})")), "lr: expected a number in [0, 1], found 2");
  EXPECT_EQ(ErrorOf(DecodePart(space, R"({"widht": 2})")),
            "widht: no parameter of the study has this name (did you mean 'width'?)");
}

TEST(PointPartTest, TextsMeanTheChoiceThatReadsSo) {
  const Space space = Example();
  const Parameter& act = space.parameters()[2];
  EXPECT_EQ(*CoordinateOfText(act, "3"), 1);
  EXPECT_EQ(*CoordinateOfText(act, "0.5"), 2);
  EXPECT_EQ(*CoordinateOfText(act, "true"), 3);
  EXPECT_THAT(ErrorOf(CoordinateOfText(act, "tanh")),
              HasSubstr("expected one of relu, 3, 0.5, true, found \"tanh\""));
  EXPECT_EQ(*CoordinateOfText(space.parameters()[0], "5e-1"), 0.5);
  EXPECT_EQ(*CoordinateOfText(space.parameters()[1], "16"), 16);
  for (const char* bad : {"", "x", "1 ", "0x1", "nan", "inf", "2", "-1"})
    EXPECT_THAT(ErrorOf(CoordinateOfText(space.parameters()[0], bad)), StartsWith("lr: ")) << bad;
}

TEST(PointPartTest, NamedValuesAreTheScalars) {
  const NamedValues values =
      *DecodeNamedValues(R"({"a":1,"b":0.5,"c":"x","d":true,"e":null,"f":[1],"g":{}})");
  ASSERT_EQ(values.size(), 4U);
  EXPECT_EQ(values[0], (NamedValues::value_type{"a", std::int64_t{1}}));
  EXPECT_EQ(values[1], (NamedValues::value_type{"b", 0.5}));
  EXPECT_EQ(values[2], (NamedValues::value_type{"c", std::string("x")}));
  EXPECT_EQ(values[3], (NamedValues::value_type{"d", true}));
  EXPECT_FALSE(DecodeNamedValues("3"));
}

TEST(PointPartTest, ManyPointsShareTheirDraws) {
  const Space space =
      *Space::Make({{.name = "a", .low = 0, .high = 1}, {.name = "b", .low = 0, .high = 1}},
                   {"a < 2", "a + b > 3"});
  std::uint64_t draws_left = 15'000;
  const PointPart part = {0.5, std::nullopt};
  EXPECT_EQ(FillIn(space, part, Random(1), draws_left).error().message,
            "expected a point that satisfies the constraint 'a + b > 3', found {\"a\":0.5}");
  EXPECT_EQ(draws_left, 5'000u);
  EXPECT_EQ(FillIn(space, part, Random(1), draws_left).error().message,
            "the missing values took too many draws, because random values rarely satisfy the "
            "constraints: give fewer points in one request, or more values of each point");
}

}  // namespace
}  // namespace sluice
