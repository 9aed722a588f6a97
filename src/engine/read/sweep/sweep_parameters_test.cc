#include "engine/read/sweep/sweep_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/read/arguments_codec.h"
#include "engine/read/sweep/test_sweep.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(SweepParametersTest, ParametersInsideParameters) {
  const StudySpec study = Good(
      "parameters:\n"
      "  seed: {value: 1}\n"  // in a study, templates reserve this name
      "  optimizer:\n"
      "    parameters:\n"
      "      name: {values: [adam]}\n"
      "      betas: {parameters: {first: {value: 0.9}}}\n"
      "  a.b: {value: 2}\n");
  std::vector<std::string> names;
  for (const Parameter& parameter : study.space.parameters()) names.push_back(parameter.name);
  EXPECT_THAT(names, ElementsAre("seed", "optimizer.name", "optimizer.betas.first", "a.b"));
  EXPECT_THAT(study.sweep->paths,
              ElementsAre(Pair("optimizer.betas.first", ElementsAre("optimizer", "betas", "first")),
                          Pair("optimizer.name", ElementsAre("optimizer", "name"))));
  EXPECT_EQ(ArgumentsOf(study, {0, 0, 0, 0}).json,
            R"({"seed":1,"optimizer":{"name":"adam","betas":{"first":0.9}},"a.b":2})");
  EXPECT_THAT(SweepProblems("parameters: {a: {parameters: {b: {value: 1}}, min: 3}}"),
              HasSubstr("a.min: unknown key"));
  EXPECT_THAT(SweepProblems("parameters: {a: {parameters: {b: {value: 1}}}, a.b: {value: 2}}"),
              HasSubstr("a.b"));
}

TEST(SweepParametersTest, ParametersTooDeepInsideEachOther) {
  std::string text = "{value: 1}";
  for (int i = 0; i < 20; ++i) text.insert(0, "{parameters: {x: ").append("}}");
  EXPECT_THAT(ProblemOfX(text), HasSubstr("expected at most 16 parameters inside each other"));
}

TEST(SweepParametersTest, ListsMapsAndNull) {
  const StudySpec study =
      Good("parameters: {x: {values: [[64, 'a b'], null, {k: 1.0}, relu]}, y: {value: [true]}}");
  EXPECT_THAT(study.sweep->structured, UnorderedElementsAre("x", "y"));
  EXPECT_THAT(study.space.parameters()[0].choices,
              ElementsAre(Choice(R"([64,"a b"])"), Choice("null"), Choice(R"({"k":1.0})"),
                          Choice(R"("relu")")));
  EXPECT_EQ(ArgumentsOf(study, {0, 0}).json, R"({"x":[64,"a b"],"y":[true]})");
  EXPECT_THAT(ArgumentsOf(study, {0, 0}).lists.at("args"),
              ElementsAre("--x=[64, 'a b']", "--y=[True]"));
  EXPECT_THAT(ArgumentsOf(study, {1, 0}).lists.at("args"), Contains("--x=None"));
  EXPECT_THAT(ArgumentsOf(study, {2, 0}).lists.at("args"), Contains("--x={'k': 1.0}"));
  EXPECT_THAT(ArgumentsOf(study, {3, 0}).lists.at("args"), Contains("--x=relu"));
  EXPECT_THAT(ProblemOfX("{value: .nan}"), HasSubstr("expected a finite number"));
}

}  // namespace
}  // namespace sluice
