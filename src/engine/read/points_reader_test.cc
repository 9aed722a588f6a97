#include "engine/read/points_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string PointProblems(const std::string& lines) {
  const auto spec = ReadStudy(SourceOf("trials: 3\n" + lines), "study.yaml", "study");
  return spec ? "" : spec.error().message;
}

TEST(PointsReaderTest, PointsOfTheUsersOwn) {
  const StudySpec spec = SpecOf(
      "trials: 3\nspace: {lr: {float: [0, 1]}, act: {choice: [relu, 3]}}\n"
      "enqueue:\n  - {lr: 1}\n  - {act: 3, lr: 0.5}\n  - {}\n  - {lr: ~, act: relu}");
  EXPECT_THAT(spec.enqueue,
              ElementsAre(PointPart{1.0, std::nullopt}, PointPart{0.5, 1.0},
                          PointPart{std::nullopt, std::nullopt}, PointPart{std::nullopt, 0.0}));
}

TEST(PointsReaderTest, BadPoints) {
  EXPECT_THAT(PointProblems("enqueue: 3"),
              HasSubstr("study.yaml:2: enqueue: expected a list of points"));
  EXPECT_THAT(PointProblems("enqueue:\n- {lr: 0.5}\n- {lr: 2}"),
              HasSubstr("study.yaml:4: enqueue[1].lr: expected a number in [0, 1], found 2"));
  EXPECT_THAT(
      PointProblems("enqueue: [{l: 0.5}]"),
      HasSubstr("enqueue[0].l: no parameter of the study has this name (did you mean 'lr'?)"));
  EXPECT_THAT(PointProblems("enqueue: [[1]]"), HasSubstr("enqueue[0]: expected"));
  EXPECT_THAT(PointProblems("enqueue: [{lr: {}}]"), HasSubstr("enqueue[0].lr: expected"));
  EXPECT_THAT(PointProblems("enqueue: [{lr: '0.5'}]"),
              HasSubstr("expected a number in [0, 1], found"));
}

TEST(PointsReaderTest, AGridGrowsByItsEnqueuedPoints) {
  const auto spec =
      ReadStudy(SourceOf("sampler: grid\nspace: {n: {int: [1, 3]}}\nenqueue: [{n: 2}]"),
                "study.yaml", "study");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->trials, 4);
}

TEST(PointsReaderTest, WarmStart) {
  const auto read = [](const std::string& text) {
    return *SpecOf("trials: 3\nwarm_start: " + text).warm_start;
  };
  EXPECT_FALSE(SpecOf("trials: 3").warm_start);
  EXPECT_EQ(read("{study: a}").study, "a");
  EXPECT_FALSE(read("{study: a}").best);
  EXPECT_EQ(read("{store: x.db, study: a}").store, "x.db");
  EXPECT_EQ(read("{optuna: o.db}").optuna, "o.db");
  EXPECT_EQ(read("{study: a, trials: best 20}").best, 20);
  EXPECT_FALSE(read("{study: a, trials: all}").best);
  EXPECT_THAT(read("{study: a, map: {rate: lr}}").map, ElementsAre(Pair("rate", "lr")));
  EXPECT_EQ(read("{study: a, missing: fill}").missing, WarmStart::Missing::kFill);
  EXPECT_EQ(read("{study: a, missing: refuse}").missing, WarmStart::Missing::kRefuse);
  EXPECT_EQ(read("{study: a}").missing, WarmStart::Missing::kSkip);
}

TEST(PointsReaderTest, BadWarmStarts) {
  const auto problems = [](const std::string& text) {
    return PointProblems("warm_start: " + text);
  };
  EXPECT_THAT(problems("a"), HasSubstr("warm_start: expected {study: NAME}, {store: FILE, study: "
                                       "NAME} or {optuna: FILE}, found a"));
  EXPECT_THAT(problems("{}"), HasSubstr("name the study whose trials are to be known"));
  EXPECT_THAT(problems("{store: a.db}"), HasSubstr("name the study"));
  EXPECT_THAT(problems("{store: a.db, optuna: b.db, study: a}"),
              HasSubstr("expected either store or optuna"));
  EXPECT_THAT(problems("{study: ''}"), HasSubstr("warm_start.study: expected a name"));
  EXPECT_THAT(problems("{sutdy: a}"), HasSubstr("did you mean 'study'?"));
  for (const char* bad : {"best", "best 0", "best x", "best 100001", "20", "some", "[]"}) {
    EXPECT_THAT(problems(fmt::format("{{study: a, trials: {}}}", bad)),
                HasSubstr("warm_start.trials: expected all, or 'best N'"))
        << bad;
  }
  EXPECT_THAT(problems("{study: a, map: {rate: l}}"),
              HasSubstr("warm_start.map.rate: l: no parameter of the study has this name"));
  EXPECT_THAT(problems("{study: a, map: {a: lr, b: lr}}"), HasSubstr("found lr twice"));
  EXPECT_THAT(problems("{study: a, missing: no}"), HasSubstr("warm_start.missing: expected"));
}

TEST(PointsReaderTest, TwentyBadPointsAreEnough) {
  std::string lines = "trials: 3\nconstraints: lr < 0.5\nenqueue:\n";
  for (int i = 0; i < 50; ++i) lines += "  - {lr: 0.9}\n";
  const auto study = ReadStudy(SourceOf(lines), "study.yaml", "study");
  ASSERT_FALSE(study);
  EXPECT_THAT(study.error().message, HasSubstr("study.yaml:23: enqueue[19]: expected a point"));
  EXPECT_EQ(std::ranges::count(study.error().message, '\n'), 19);
}

}  // namespace
}  // namespace sluice
