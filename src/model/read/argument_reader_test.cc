#include "model/read/argument_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/read/test_program.h"

namespace sluice::model {
namespace {

using testing::ElementsAre;

// Reads a program in which a node has this argument, and returns the argument as it was read.
ArgumentValue ReadAsArgument(const Json& value) {
  TestProgram made = TestProgram::Minimal();
  made.nodes()[0]["inputs"].push_back(TestProgram::Argument("extra", value, 2));
  const Graph graph = ReadGraph(made);
  if (graph.nodes.empty()) return {};
  const Argument* extra = Find(graph.nodes[0], "extra");
  EXPECT_TRUE(extra != nullptr && extra->keyword);
  return extra == nullptr ? ArgumentValue() : extra->value;
}

TEST(ArgumentReaderTest, ReadsArgumentsOfEveryKind) {
  const Json none = {{"as_none", true}};
  EXPECT_TRUE(std::holds_alternative<std::monostate>(ReadAsArgument(none)));
  EXPECT_EQ(std::get<std::int64_t>(ReadAsArgument({{"as_int", INT64_MIN}})), INT64_MIN);
  EXPECT_EQ(std::get<bool>(ReadAsArgument({{"as_bool", true}})), true);
  EXPECT_EQ(std::get<double>(ReadAsArgument({{"as_float", 1}})), 1.0);
  EXPECT_EQ(std::get<double>(ReadAsArgument({{"as_float", "-Infinity"}})), -INFINITY);
  EXPECT_TRUE(std::isnan(std::get<double>(ReadAsArgument({{"as_float", "NaN"}}))));
  EXPECT_EQ(std::get<std::string>(ReadAsArgument({{"as_string", "mean"}})), "mean");
  EXPECT_EQ(std::get<DType>(ReadAsArgument({{"as_scalar_type", 13}})), DType::kBfloat16);
  EXPECT_THAT(std::get<std::vector<double>>(ReadAsArgument({{"as_floats", {0.5, "Infinity"}}})),
              ElementsAre(0.5, INFINITY));
  EXPECT_THAT(std::get<std::vector<bool>>(ReadAsArgument({{"as_bools", {true, false}}})),
              ElementsAre(true, false));
  const auto numbers =
      std::get<std::vector<IntegerOrValue>>(ReadAsArgument({{"as_ints", {3, -1}}}));
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_EQ(numbers[1].number, -1);
  const auto known = std::get<std::vector<IntegerOrValue>>(
      ReadAsArgument({{"as_sym_ints", Json::array({{{"as_int", 5}}})}}));
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].number, 5);
  EXPECT_EQ(std::get<std::int64_t>(ReadAsArgument({{"as_sym_int", {{"as_int", 5}}}})), 5);
  EXPECT_EQ(std::get<Setting>(ReadAsArgument({{"as_device", {{"type", "cpu"}}}})).text, "cpu");
  EXPECT_EQ(std::get<Setting>(ReadAsArgument({{"as_layout", 7}})).text, "strided");
  EXPECT_EQ(std::get<Setting>(ReadAsArgument({{"as_memory_format", 2}})).text, "channels_last");
}

TEST(ArgumentReaderTest, ReadsOptionalTensorsAndLists) {
  const Json none = {{"as_none", true}};
  EXPECT_TRUE(
      std::holds_alternative<std::monostate>(ReadAsArgument({{"as_optional_tensor", none}})));
  EXPECT_TRUE(std::holds_alternative<ValueId>(
      ReadAsArgument({{"as_optional_tensor", TestProgram::Tensor("x")}})));
  using Values = std::vector<std::optional<ValueId>>;
  const auto some = std::get<Values>(
      ReadAsArgument({{"as_optional_tensors", Json::array({none, TestProgram::Tensor("x")})}}));
  ASSERT_EQ(some.size(), 2U);
  EXPECT_FALSE(some[0]);
  EXPECT_TRUE(some[1]);
  const Json x = {{"name", "x"}};
  EXPECT_EQ(std::get<Values>(ReadAsArgument({{"as_tensors", Json::array({x, x})}})).size(), 2U);

  TestProgram made = TestProgram::Minimal();
  made.tensors()["z"] = made.tensors()["y"];
  made.nodes()[0]["outputs"] =
      Json::array({{{"as_tensors", Json::array({{{"name", "y"}}, {{"name", "z"}}})}}});
  const Graph graph = ReadGraph(made);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_TRUE(graph.nodes[0].returns_list);
  EXPECT_EQ(graph.nodes[0].outputs.size(), 2U);
  made.nodes()[0]["outputs"] =
      Json::array({{{"as_optional_tensors", Json::array({none, TestProgram::Tensor("y")})}}, none});
  EXPECT_EQ(ReadGraph(made).nodes[0].outputs.size(), 3U);
}

TEST(ArgumentReaderTest, RefusesArgumentsThatAreNotWhatTheySay) {
  const auto refused = [](const Json& value, ErrorCode code, const std::string& message) {
    ExpectRefused(
        [&](TestProgram& it) {
          it.nodes()[0]["inputs"].push_back(TestProgram::Argument("extra", value));
        },
        code, message);
  };
  refused({{"as_complex", {{"real", 1}, {"imag", 2}}}}, ErrorCode::kInvalidArgument,
          "an argument of the kind 'as_complex' is not known");
  refused({{"as_sym_int", {{"as_text", "n"}}}}, ErrorCode::kInvalidArgument,
          "a symbolic number of the kind 'as_text' is not known");
  refused({{"as_layout", 8}}, ErrorCode::kInvalidArgument, "a setting numbered 8 is not known");
  refused({{"as_layout", -1}}, ErrorCode::kInvalidArgument, "a setting numbered -1 is not known");
  refused({{"as_scalar_type", 0}}, ErrorCode::kInvalidArgument, "found one numbered 0");
  refused({{"as_bool", 1}}, ErrorCode::kCorruption,
          "as_bool: expected true or false, found an integer");
  refused({{"as_bools", {nullptr}}}, ErrorCode::kCorruption, "as_bools: expected true or false");
  refused({{"as_int", 1.5}}, ErrorCode::kCorruption, "as_int: expected an integer, found a number");
  refused({{"as_float", "inf"}}, ErrorCode::kCorruption,
          "as_float: expected a number, found a text");
  refused({{"as_ints", {1, "2"}}}, ErrorCode::kCorruption, "as_ints: expected an integer");
  refused({{"as_sym_ints", Json::array({{{"as_float", 1}}})}}, ErrorCode::kCorruption,
          "as_sym_ints: expected integers");
  refused({{"as_int", 1}, {"as_bool", true}}, ErrorCode::kCorruption,
          "arg: expected an object with one member, found 2 members");
  refused("as_none", ErrorCode::kCorruption, "expected an object with one member, found a text");
  refused({{"as_tensors", Json::array({TestProgram::Tensor("x")})}}, ErrorCode::kCorruption,
          "expected a member 'name', found none");
}

// An infinity without quotes is not JSON, but Python's json module writes it by default.
TEST(ArgumentReaderTest, ReadsInfinitiesWithoutQuotes) {
  TestProgram made = TestProgram::Minimal();
  made.nodes()[0]["inputs"].push_back(TestProgram::Argument("low", {{"as_float", "-Infinity"}}));
  std::string program = made.program.dump();
  program.replace(program.find("\"-Infinity\""), 11, "-Infinity");
  const auto graph = ReadProgram(program, made.weights.dump(), "");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(std::get<double>(Find(graph->nodes[0], "low")->value), -INFINITY);
}

}  // namespace
}  // namespace sluice::model
