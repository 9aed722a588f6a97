// What a study takes from an earlier one.

#include "engine/warm_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_numbers.h"
#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StudySpec Ours(const std::string& warm_start = "{study: a}") {
  return SpecOf(
      "trials: 3\nspace: {lr: {float: [0.1, 1]}, n: {int: [0, 8], step: 2}, act: {choice: [relu, "
      "tanh]}}\nwarm_start: " +
      warm_start);
}

EarlierTrial Earlier(double lr, std::int64_t n, const std::string& act, double value) {
  return {.params = {{"lr", lr}, {"n", n}, {"act", act}},
          .outcome = Outcome::kComplete,
          .work = 5,
          .value = value};
}

EarlierStudy Theirs(std::vector<EarlierTrial> trials) {
  return {.source = "study 'a'",
          .metric = "loss",
          .unit = "epoch",
          .direction = Direction::kMinimize,
          .trials = std::move(trials)};
}

Result<Knowledge> LearnFrom(const StudySpec& spec, const EarlierStudy& earlier) {
  return Learn(spec, *spec.warm_start, earlier, 1);
}

std::string Refusal(const StudySpec& spec, const EarlierStudy& earlier) {
  const auto knowledge = LearnFrom(spec, earlier);
  EXPECT_FALSE(knowledge);
  return knowledge ? "" : knowledge.error().message;
}

TEST(WarmStartTest, TrialsBecomePointsOfOurSpace) {
  const auto knowledge =
      LearnFrom(Ours(), Theirs({Earlier(0.5, 4, "tanh", 3), Earlier(1, 0, "relu", 2)}));
  ASSERT_TRUE(knowledge) << knowledge.error().message;
  ASSERT_EQ(knowledge->trials.size(), 2U);
  EXPECT_EQ(knowledge->trials[0].point, (Point{0.5, 4, 1}));
  EXPECT_EQ(knowledge->trials[0].value, 3);
  EXPECT_EQ(knowledge->trials[0].work, 5);
  EXPECT_EQ(knowledge->trials[1].point, (Point{1, 0, 0}));
  EXPECT_EQ(knowledge->summary, "2 of 2 trials of study 'a'");
  EXPECT_THAT(knowledge->notes, IsEmpty());
}

TEST(WarmStartTest, WhatDoesNotFitIsLeftOutAndCounted) {
  EarlierStudy earlier =
      Theirs({Earlier(0.5, 4, "tanh", 3), Earlier(7, 4, "tanh", 3), Earlier(0, 4, "tanh", 3),
              Earlier(1, 3, "tanh", 3), Earlier(1, 4, "sigmoid", 3), Earlier(1, 4, "relu", kNan)});
  earlier.trials.push_back({.params = {{"lr", 0.5}, {"act", "relu"}}, .work = 1, .value = 1});
  const auto knowledge = LearnFrom(Ours(), earlier);
  ASSERT_TRUE(knowledge) << knowledge.error().message;
  EXPECT_EQ(knowledge->trials.size(), 1U);
  EXPECT_EQ(knowledge->summary,
            "1 of 7 trials of study 'a'; 2 have lr outside [0.1, 1], 1 has n off its steps of 2, 1 "
            "has act other than relu, tanh, 1 has no result, 1 has no n");
}

TEST(WarmStartTest, MissingParametersAreFilledInOrRefused) {
  EarlierStudy earlier = Theirs({});
  earlier.trials.push_back({.params = {{"lr", 0.5}, {"act", "relu"}}, .work = 1, .value = 1});
  const auto filled = LearnFrom(Ours("{study: a, missing: fill}"), earlier);
  ASSERT_TRUE(filled) << filled.error().message;
  EXPECT_EQ(filled->trials[0].point[0], 0.5);
  EXPECT_TRUE(Ours().space.Contains(filled->trials[0].point));
  EXPECT_EQ(LearnFrom(Ours("{study: a, missing: fill}"), earlier)->trials[0].point,
            filled->trials[0].point);
  EXPECT_THAT(Refusal(Ours("{study: a, missing: refuse}"), earlier),
              HasSubstr("found trial 1 of 1 with no n"));
  EXPECT_THAT(Refusal(Ours(), earlier), HasSubstr("that this study can use, found 1: 1 has no n"));
}

TEST(WarmStartTest, NamesAreMapped) {
  EarlierStudy earlier = Theirs({});
  earlier.trials.push_back(
      {.params =
           {{"rate", 0.5}, {"lr", 0.7}, {"n", std::int64_t{2}}, {"act", "relu"}, {"extra", true}},
       .work = 1,
       .value = 1});
  const auto knowledge = LearnFrom(Ours("{study: a, map: {rate: lr}}"), earlier);
  ASSERT_TRUE(knowledge) << knowledge.error().message;
  EXPECT_EQ(knowledge->trials[0].point, (Point{0.5, 2, 0}));
  EXPECT_THAT(knowledge->notes, ElementsAre("its extra, lr are not in this space and ignored"));
  EXPECT_EQ(Refusal(Ours("{study: a, map: {ratte: lr}}"), earlier),
            "map: no parameter 'ratte' in study 'a' (did you mean 'rate'?)");
}

TEST(WarmStartTest, TheBestOnes) {
  const EarlierStudy earlier = Theirs({Earlier(0.5, 4, "tanh", 3), Earlier(1, 4, "tanh", 1),
                                       Earlier(0.7, 4, "tanh", 2), Earlier(7, 4, "tanh", 0)});
  const auto knowledge = LearnFrom(Ours("{study: a, trials: best 2}"), earlier);
  ASSERT_TRUE(knowledge) << knowledge.error().message;
  ASSERT_EQ(knowledge->trials.size(), 2U);
  EXPECT_EQ(knowledge->trials[0].value, 1);
  EXPECT_EQ(knowledge->trials[1].value, 2);
  EXPECT_EQ(knowledge->summary, "the best 2 of 4 trials of study 'a'; 1 has lr outside [0.1, 1]");
  StudySpec maximize = Ours("{study: a, trials: best 1}");
  maximize.objective.direction = Direction::kMaximize;
  EarlierStudy theirs = earlier;
  theirs.direction = Direction::kMaximize;
  EXPECT_EQ(LearnFrom(maximize, theirs)->trials[0].value, 3);
}

TEST(WarmStartTest, StudiesThatHaveNothingToSayAreRefused) {
  EarlierStudy other = Theirs({Earlier(0.5, 4, "tanh", 3)});
  other.direction = Direction::kMaximize;
  other.metric = "accuracy";
  EXPECT_EQ(Refusal(Ours(), other),
            "expected a study with the same direction, found that study 'a' maximizes accuracy and "
            "this one minimizes loss");
  EarlierStudy strange = Theirs({{.params = {{"x", 1.0}, {"y", 2.0}}, .work = 1, .value = 1}});
  EXPECT_THAT(Refusal(Ours(), strange),
              HasSubstr("found none of them in study 'a', which has x, y"));
  EXPECT_EQ(Refusal(Ours(), Theirs({})), "expected trials in study 'a', found none");
  EXPECT_THAT(Refusal(Ours(), Theirs({Earlier(1, 4, "relu", kNan)})), HasSubstr("1 has no result"));
}

TEST(WarmStartTest, AnotherMetricAndUnitAreNoted) {
  EarlierStudy earlier = Theirs({Earlier(0.5, 4, "tanh", 3)});
  earlier.metric = "error";
  earlier.unit = "step";
  EXPECT_THAT(
      LearnFrom(Ours(), earlier)->notes,
      ElementsAre("its error is taken for loss", "its work is counted in step, taken for epoch"));
  earlier.metric = earlier.unit = "";
  EXPECT_THAT(LearnFrom(Ours(), earlier)->notes, IsEmpty());
}

TEST(WarmStartTest, KnowledgeIsBounded) {
  std::vector<EarlierTrial> trials(kMostKnown + 5, Earlier(0.5, 4, "tanh", 3));
  trials.back().value = 1;
  const auto knowledge = LearnFrom(Ours(), Theirs(std::move(trials)));
  ASSERT_TRUE(knowledge);
  EXPECT_EQ(knowledge->trials.size(), kMostKnown);
  EXPECT_EQ(knowledge->trials.back().value, 1);
}

}  // namespace
}  // namespace sluice
