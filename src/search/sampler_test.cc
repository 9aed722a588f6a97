#include "search/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Space SmallGrid() {
  return Space::Make({{.name = "a", .kind = ParameterKind::kInt, .low = 1, .high = 5, .step = 2},
                      {.name = "b", .low = 0, .high = 0.3, .step = 0.1},
                      {.name = "c", .kind = ParameterKind::kCategorical, .choices = {true, false}}})
      .value();
}

Space Continuous(bool log) {
  return Space::Make(
             {{.name = "lr", .low = 0.1, .high = 1, .law = log ? Law::kLog : Law::kUniform}})
      .value();
}

TEST(SamplerTest, UnknownNamesGetASuggestion) {
  const auto result = MakeSampler({.name = "radnom"}, SmallGrid(), 1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(result.error().message, HasSubstr("random, grid"));
  EXPECT_THAT(result.error().message, HasSubstr("did you mean 'random'?"));
}

TEST(GridSamplerTest, TheLastParameterTurnsFastest) {
  const auto grid = MakeSampler({.name = "grid"}, SmallGrid(), 1).value();
  EXPECT_EQ(grid->Propose(0), (Point{1, 0, 0}));
  EXPECT_EQ(grid->Propose(1), (Point{1, 0, 1}));
  EXPECT_EQ(grid->Propose(2), (Point{1, 0.1, 0}));
  EXPECT_EQ(grid->Propose(7), (Point{1, 0.3, 1}));
  EXPECT_EQ(grid->Propose(8), (Point{3, 0, 0}));
  EXPECT_EQ(grid->Propose(23), (Point{5, 0.3, 1}));
  EXPECT_EQ(grid->Propose(24), std::nullopt);
  EXPECT_EQ(grid->Propose(UINT64_MAX), std::nullopt);
  EXPECT_EQ(grid->Propose(0), (Point{1, 0, 0}));
}

TEST(GridSamplerTest, EveryPointComesOnce) {
  const Space space = SmallGrid();
  const auto grid = MakeSampler({.name = "grid"}, space, 1).value();
  std::set<Point> seen;
  for (std::uint64_t i = 0; i < *space.Cardinality(); ++i) seen.insert(grid->Propose(i).value());
  EXPECT_EQ(seen.size(), 24u);
}

TEST(GridSamplerTest, AnEmptySpaceHasOnePoint) {
  const auto grid = MakeSampler({.name = "grid"}, Space(), 1).value();
  EXPECT_EQ(grid->Propose(0), Point{});
  EXPECT_EQ(grid->Propose(1), std::nullopt);
}

TEST(GridSamplerTest, SpacesThatCannotBeCountedAreRefusedWithAWayOut) {
  const auto linear = MakeSampler({.name = "grid"}, Continuous(false), 1);
  ASSERT_FALSE(linear);
  EXPECT_EQ(linear.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(linear.error().message, HasSubstr("lr: "));
  EXPECT_THAT(linear.error().message, HasSubstr("give it a step, or list its values as choices"));
  const auto log = MakeSampler({.name = "grid"}, Continuous(true), 1);
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("list its values as choices"));

  Parameter large = {.name = "a", .kind = ParameterKind::kInt, .low = 1, .high = 0x1.0p30};
  Parameter other = large;
  other.name = "b";
  const auto too_large = MakeSampler({.name = "grid"}, Space::Make({large, other}).value(), 1);
  ASSERT_FALSE(too_large);
  EXPECT_THAT(too_large.error().message, HasSubstr("2^53"));
}

// m is active only if opt is sgd. The constraint rules out m = 3 with l = 2.
Space ConditionalSpace() {
  return Space::Make({{.name = "opt",
                       .kind = ParameterKind::kCategorical,
                       .choices = {std::string("adam"), std::string("sgd")}},
                      {.name = "m",
                       .kind = ParameterKind::kInt,
                       .low = 1,
                       .high = 3,
                       .when = "opt == 'sgd'"},
                      {.name = "l", .kind = ParameterKind::kInt, .low = 1, .high = 2}},
                     {"m + l < 5"})
      .value();
}

TEST(GridSamplerTest, WhatIsNotActiveDoesNotMultiply) {
  const Space space = ConditionalSpace();
  const auto grid = MakeSampler({.name = "grid"}, space, 1).value();
  std::vector<std::string> points;
  for (std::uint64_t i = 0; i < *space.Cardinality(); ++i)
    points.push_back(space.Encode(grid->Propose(i).value()));
  EXPECT_THAT(points, ElementsAre(R"({"opt":"adam","l":1})", R"({"opt":"adam","l":2})",
                                  R"({"opt":"sgd","m":1,"l":1})", R"({"opt":"sgd","m":1,"l":2})",
                                  R"({"opt":"sgd","m":2,"l":1})", R"({"opt":"sgd","m":2,"l":2})",
                                  R"({"opt":"sgd","m":3,"l":1})"));
  EXPECT_EQ(grid->Propose(7), std::nullopt);
  for (const std::uint64_t counter : {3u, 3u, 0u, 6u, 5u})
    EXPECT_EQ(space.Encode(grid->Propose(counter).value()), points[counter]);
}

TEST(GridSamplerTest, ConstrainedSpacesThatAreTooLargeAreRefused) {
  Parameter large = {.name = "a", .kind = ParameterKind::kInt, .low = 1, .high = 1e7};
  const auto grid = MakeSampler({.name = "grid"}, Space::Make({large}, {"a > 1"}).value(), 1);
  ASSERT_FALSE(grid);
  EXPECT_THAT(grid.error().message, HasSubstr("too many points"));
}

TEST(RandomSamplerTest, DrawsAgainUntilTheConstraintsHold) {
  const Space space =
      Space::Make({{.name = "x", .low = 0, .high = 1}, {.name = "y", .low = 0, .high = 1}},
                  {"x + y < 0.05"})
          .value();
  const auto random = MakeSampler({.name = "random"}, space, 1).value();
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(space.Contains(random->Propose(i).value()));
}

TEST(RandomSamplerTest, ARarePointOfACountableSpaceIsFound) {
  std::vector<Parameter> parameters;
  for (const char* name : {"a", "b", "c"})
    parameters.push_back({.name = name, .kind = ParameterKind::kInt, .low = 1, .high = 1000});
  const std::vector<std::string> one = {"a == 7", "b == a", "c == b"};
  const auto random =
      MakeSampler({.name = "random"}, Space::Make(parameters, one).value(), 1).value();
  EXPECT_EQ(random->Propose(0), (Point{7, 7, 7}));
  const Space none = Space::Make(parameters, {"a == 7", "b < 1"}).value();
  EXPECT_EQ(MakeSampler({.name = "random"}, none, 1).value()->Propose(0), std::nullopt);
}

// If this test has to change, every study with a seed proposes other points than before.
TEST(RandomSamplerTest, ProposalsStayFixed) {
  const auto random = MakeSampler({.name = "random"}, Continuous(false), 7).value();
  Random draws = Random(7).Fork("random").Fork(17);
  EXPECT_EQ(random->Propose(17), Point{0.1 + draws.Uniform() * 0.9});
}

TEST(RandomSamplerTest, OtherParametersDoNotShiftADraw) {
  const Space one = Continuous(false);
  std::vector<Parameter> parameters = one.parameters();
  parameters.push_back({.name = "more", .low = 0, .high = 1});
  const auto narrow = MakeSampler({.name = "random"}, one, 3).value();
  const auto wide = MakeSampler({.name = "random"}, Space::Make(parameters).value(), 3).value();
  for (std::uint64_t i = 0; i < 100; ++i)
    EXPECT_EQ((*narrow->Propose(i))[0], (*wide->Propose(i))[0]);
}

}  // namespace
}  // namespace sluice
