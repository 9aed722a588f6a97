#include "cli/points_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/text/csv.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Space Example() {
  return *Space::Make({{.name = "lr", .low = 0, .high = 1},
                       {.name = "act",
                        .kind = ParameterKind::kCategorical,
                        .choices = {Choice("a,b"), Choice("c")}}});
}

TEST(PointsFileTest, CsvLinesAreReadBack) {
  CsvLine line;
  const std::string text = line.Add("a,b").Add("c\"d").Add("").Add("e\nf").Finish() + "x,y\r\n\nz";
  CsvReader reader(text);
  EXPECT_THAT(*reader.Next(), ElementsAre("a,b", "c\"d", "", "e\nf"));
  EXPECT_EQ(reader.line(), 1);
  EXPECT_THAT(*reader.Next(), ElementsAre("x", "y"));
  EXPECT_EQ(reader.line(), 3);
  EXPECT_THAT(*reader.Next(), ElementsAre(""));
  EXPECT_THAT(*reader.Next(), ElementsAre("z"));
  EXPECT_EQ(reader.line(), 5);
  EXPECT_FALSE(reader.Next());
}

TEST(PointsFileTest, EveryProblemIsSaidWithItsLine) {
  const auto bad = ParsePoints("{\"lr\": 0.5}\n{\"lr\": 2}\n\nnothing\n", "p.jsonl", Example());
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "p.jsonl:2: lr: expected a number in [0, 1], found 2\n"
            "p.jsonl:4: expected a JSON object such as {\"lr\": 0.1}, found text that is no JSON");
  std::string many;
  for (int i = 0; i < 30; ++i) many += "no\n";
  EXPECT_THAT(
      ParsePoints(many, "p.jsonl", Example()).error().message,
      HasSubstr("p.jsonl:20: expected a JSON object such as {\"lr\": 0.1}, found text that is "
                "no JSON\nand maybe more: the rest was not looked at"));
}

TEST(PointsFileTest, PointsThatTakeTooLongToFillInAreSaidOnce) {
  const Space space = *Space::Make(
      {{.name = "a", .low = 0, .high = 1}, {.name = "b", .low = 0, .high = 1}}, {"a + b < 0.0005"});
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "{\"a\": 0}\n";
  const auto bad = ParsePoints(many, "p.jsonl", space);
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message,
              ::testing::MatchesRegex("p.jsonl:[0-9]+: the missing values took too many draws"
                                      "[^\n]*\nand maybe more: the rest was not looked at"));
}

TEST(PointsFileTest, CsvMeansWhatACommandLineMeans) {
  const auto points = ParsePoints("act,lr\n\"a,b\",0.5\n,1e-1\nc,\n", "p.csv", Example());
  ASSERT_TRUE(points) << points.error().message;
  EXPECT_THAT(*points, ElementsAre(PointPart{0.5, 0.0}, PointPart{0.1, std::nullopt},
                                   PointPart{std::nullopt, 1.0}));
  EXPECT_EQ(*ReadAssignments({"lr=0.5", "act=a,b"}, Example()), (PointPart{0.5, 0.0}));
}

}  // namespace
}  // namespace sluice
