#include "ledger/optuna/optuna_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Space SpaceOf(Parameter parameter) {
  parameter.name = "p";
  auto space = Space::Make({std::move(parameter)});
  SLUICE_CHECK(space.has_value(), "the parameter is good");
  return *std::move(space);
}

// The encoded distribution as JSON, so that comparisons ignore the order of members.
nlohmann::json Encoded(Parameter parameter) {
  return nlohmann::json::parse(EncodeDistribution(SpaceOf(std::move(parameter)), 0));
}

nlohmann::json FloatDistribution(double low, double high, nlohmann::json step, bool log) {
  return {{"name", "FloatDistribution"},
          {"attributes", {{"low", low}, {"high", high}, {"step", step}, {"log", log}}}};
}

nlohmann::json IntDistribution(int low, int high, int step, bool log) {
  return {{"name", "IntDistribution"},
          {"attributes", {{"low", low}, {"high", high}, {"step", step}, {"log", log}}}};
}

Parameter Range(ParameterKind kind, double low, double high, Law law = Law::kUniform,
                double step = 0) {
  return {.name = "p", .kind = kind, .low = low, .high = high, .law = law, .step = step};
}

TEST(OptunaCodec, NumbersAsDistributions) {
  constexpr auto kFloat = ParameterKind::kFloat;
  constexpr auto kInt = ParameterKind::kInt;
  EXPECT_EQ(Encoded(Range(kFloat, 0, 1)), FloatDistribution(0, 1, nullptr, false));
  EXPECT_EQ(Encoded(Range(kFloat, 0.5, 1, Law::kLog)), FloatDistribution(0.5, 1, nullptr, true));
  // In Optuna the end of a range must be on a step.
  EXPECT_EQ(Encoded(Range(kFloat, 0, 0.95, Law::kUniform, 0.1)),
            FloatDistribution(0, 0.9, 0.1, false));
  EXPECT_EQ(Encoded(Range(kInt, 1, 10)), IntDistribution(1, 10, 1, false));
  EXPECT_EQ(Encoded(Range(kInt, 1, 10, Law::kUniform, 4)), IntDistribution(1, 9, 4, false));
  EXPECT_EQ(Encoded(Range(kInt, 1, 64, Law::kLog)), IntDistribution(1, 64, 1, true));
}

TEST(OptunaCodec, OtherLawsAreTheirRanges) {
  for (const Law law : {Law::kInverseLog, Law::kNormal, Law::kBeta}) {
    Parameter parameter = Range(ParameterKind::kFloat, 0.5, 2, law);
    parameter.first = parameter.second = 1;
    EXPECT_EQ(Encoded(parameter), FloatDistribution(0.5, 2, nullptr, false));
  }
  Parameter parameter = Range(ParameterKind::kFloat, 0.5, 2, Law::kLogNormal);
  parameter.second = 1;
  EXPECT_EQ(Encoded(parameter), FloatDistribution(0.5, 2, nullptr, true));
}

TEST(OptunaCodec, ChoicesKeepTheirTypes) {
  const std::vector<Choice> choices = {std::string("a\"\n"), std::int64_t{1}, 2.5, 3.0, true};
  for (const auto kind : {ParameterKind::kCategorical, ParameterKind::kOrdinal}) {
    Parameter parameter{.name = "p", .kind = kind, .choices = choices};
    const std::string json = EncodeDistribution(SpaceOf(parameter), 0);
    EXPECT_THAT(json, HasSubstr("[\"a\\\"\\n\",1,2.5,3.0,true]"));
    const auto back = DecodeDistribution("p", json);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->choices, choices);
    EXPECT_EQ(back->kind, ParameterKind::kCategorical);
  }
}

TEST(OptunaCodec, DistributionsBack) {
  for (const Parameter& parameter :
       {Range(ParameterKind::kFloat, -1, 1), Range(ParameterKind::kFloat, 1e-5, 1, Law::kLog),
        Range(ParameterKind::kFloat, 0, 1, Law::kUniform, 0.25),
        Range(ParameterKind::kInt, -4, 4, Law::kUniform, 2),
        Range(ParameterKind::kInt, 1, 9007199254740991, Law::kLog)}) {
    const auto back = DecodeDistribution("p", EncodeDistribution(SpaceOf(parameter), 0));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->kind, parameter.kind);
    EXPECT_EQ(back->low, parameter.low);
    EXPECT_EQ(back->high, parameter.high);
    EXPECT_EQ(back->law, parameter.law);
    EXPECT_EQ(back->step, parameter.step);
  }
}

TEST(OptunaCodec, NoneIsAText) {
  const auto parameter = DecodeDistribution(
      "p", R"({"name": "CategoricalDistribution", "attributes": {"choices": [null, 0]}})");
  ASSERT_TRUE(parameter);
  EXPECT_THAT(parameter->choices, ElementsAre(Value(std::string("None")), Value(std::int64_t{0})));
}

std::string Refusal(std::string_view json) {
  const auto parameter = DecodeDistribution("p", json);
  return parameter ? "none" : parameter.error().message;
}

TEST(OptunaCodec, WhatIsNoDistributionIsRefused) {
  EXPECT_EQ(Refusal("{"), R"(p: expected JSON, found "{")");
  EXPECT_EQ(Refusal("[]"), R"(p: expected a distribution, found "[]")");
  EXPECT_EQ(Refusal(R"({"name": 1, "attributes": {}})"),
            R"(p: expected a distribution, found "{\"name\": 1, \"attributes\": {}}")");
  EXPECT_EQ(Refusal(R"({"name": "UniformDistribution", "attributes": {"low": 0, "high": 1}})"),
            R"(p: expected a float, int or categorical distribution, found "UniformDistribution")");
  EXPECT_THAT(Refusal(R"({"name": "FloatDistribution", "attributes": {"low": NaN, "high": 1}})"),
              HasSubstr("p: expected finite numbers low <= high, found"));
  EXPECT_THAT(Refusal(R"({"name": "FloatDistribution", "attributes": {"low": 2, "high": 1}})"),
              HasSubstr("expected finite numbers low <= high"));
  EXPECT_THAT(
      Refusal(R"({"name": "FloatDistribution", "attributes": {"low": 0, "high": 1, "step": -1}})"),
      HasSubstr("expected a step > 0"));
  EXPECT_THAT(Refusal(R"({"name": "IntDistribution", "attributes": {"low": 0.5, "high": 1}})"),
              HasSubstr("expected whole numbers below 2^53"));
  EXPECT_THAT(Refusal(R"({"name": "IntDistribution", "attributes": {"low": 0, "high": 1e300}})"),
              HasSubstr("expected whole numbers below 2^53"));
  EXPECT_THAT(Refusal(R"({"name": "CategoricalDistribution", "attributes": {"choices": []}})"),
              HasSubstr("expected a list of choices, found none"));
  EXPECT_THAT(Refusal(R"({"name": "CategoricalDistribution", "attributes": {"choices": [[1]]}})"),
              HasSubstr("as choices, found [1]"));
  EXPECT_THAT(Refusal(std::string(200'000, '[')), HasSubstr("expected JSON, found \"[[[["));
  EXPECT_THAT(Refusal(std::string((1 << 20) + 1, ' ')), HasSubstr("expected at most 1 MiB"));
}

TEST(OptunaCodec, PythonsNumbersAreTexts) {
  EXPECT_THAT(*DecodeMembers(R"({"a": [NaN, -Infinity], "NaN": "\"NaN", "b": Infinity})"),
              ElementsAre(Pair("a", R"(["NaN","-Infinity"])"), Pair("NaN", R"("\"NaN")"),
                          Pair("b", R"("Infinity")")));
  EXPECT_EQ(*EncodeMembers({{"a", "{\"x\": NaN}"}, {"gone", "null"}}), R"({"a":{"x":"NaN"}})");
  EXPECT_EQ(EncodeMembers({{"a", "oh"}}).error().message, R"(expected JSON, found "oh")");
}

TEST(OptunaCodec, Values) {
  EXPECT_THAT(
      *DecodeValues(R"({"a": 1, "b": 1.0, "c": true, "d": "x", "e": null, "f": [], "g": {}})"),
      UnorderedElementsAre(Pair("a", Value(std::int64_t{1})), Pair("b", Value(1.0)),
                           Pair("c", Value(true)), Pair("d", Value(std::string("x"))),
                           Pair("e", Value(std::string("None")))));
  EXPECT_FALSE(DecodeValues("[1]"));
  EXPECT_EQ(DecodeFirstText(EncodeTexts({"loss", "x"})), "loss");
  EXPECT_EQ(DecodeFirstText("{}"), "");
}

}  // namespace
}  // namespace sluice
