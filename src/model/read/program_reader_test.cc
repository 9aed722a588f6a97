#include "model/read/program_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "model/read/program_limits.h"
#include "model/read/test_program.h"

namespace sluice::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void ExpectRefused(const Result<Graph>& read, ErrorCode code, const std::string& message) {
  ASSERT_FALSE(read) << message;
  EXPECT_EQ(read.error().code, code) << read.error().message;
  EXPECT_THAT(read.error().message, HasSubstr(message));
}

void ExpectRefused(const std::function<void(TestProgram&)>& change, ErrorCode code,
                   const std::string& message) {
  TestProgram made = TestProgram::Minimal();
  change(made);
  ExpectRefused(made.Read(), code, message);
}

// The graph, which is there.
Graph ReadGraph(const TestProgram& made) {
  auto read = made.Read();
  EXPECT_TRUE(read) << read.error().message;
  return read ? *std::move(read) : Graph();
}

// The argument as it is read when a node has it.
ArgumentValue ReadAsArgument(const Json& value) {
  TestProgram made = TestProgram::Minimal();
  made.nodes()[0]["inputs"].push_back(TestProgram::Argument("extra", value, 2));
  const Graph graph = ReadGraph(made);
  if (graph.nodes.empty()) return {};
  const Argument* extra = Find(graph.nodes[0], "extra");
  EXPECT_TRUE(extra != nullptr && extra->keyword);
  return extra == nullptr ? ArgumentValue() : extra->value;
}

TEST(ProgramReaderTest, ReadsTheSmallestProgram) {
  const Graph graph = ReadGraph(TestProgram::Minimal());
  EXPECT_EQ(graph.made_by, "torch 2.13.0");
  ASSERT_EQ(graph.parameters.size(), 1U);
  const Parameter& weight = graph.parameters[0];
  EXPECT_EQ(weight.name, "fc.weight");
  EXPECT_THAT(weight.sizes, ElementsAre(3, 4));
  EXPECT_TRUE(weight.trainable);
  EXPECT_EQ(weight.storage.member, "weights/weight_0");
  EXPECT_THAT(weight.storage.strides, ElementsAre(4, 1));
  ASSERT_EQ(graph.inputs.size(), 1U);
  const Value& x = graph.value(graph.inputs[0]);
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.sizes[0].symbol, "s0");
  EXPECT_EQ(x.sizes[0].number, 2);
  ASSERT_EQ(graph.symbols.size(), 1U);
  EXPECT_EQ(graph.symbols[0].least, 1);
  EXPECT_EQ(graph.symbols[0].most, INT64_MAX);
  EXPECT_EQ(graph.symbols[0].example, 2);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, "aten.linear.default");
  EXPECT_EQ(graph.nodes[0].label, "fc");
  EXPECT_EQ(std::get<ValueId>(graph.nodes[0].arguments[1].value), weight.value);
  ASSERT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
}

TEST(ProgramReaderTest, AsksForAnotherExport) {
  ExpectRefused(
      [](TestProgram& it) { it.program["schema_version"]["major"] = 9; },
      ErrorCode::kInvalidArgument,
      "expected version 8 of the format, found 9.20: export it with PyTorch 2.11 to 2.13");
  ExpectRefused([](TestProgram& it) { it.program["verifiers"] = {"ATEN"}; },
                ErrorCode::kInvalidArgument, "leave out run_decompositions()");
  ExpectRefused([](TestProgram& it) { it.specs()[1] = {{"custom_obj", {{"arg", {}}}}}; },
                ErrorCode::kInvalidArgument,
                "input 1: expected tensors, found an input of the kind 'custom_obj'");
  ExpectRefused(
      [](TestProgram& it) {
        it.specs()[1] = {{"user_input", {{"arg", {{"as_sym_int", {{"as_name", "n"}}}}}}}};
      },
      ErrorCode::kInvalidArgument, "expected tensors as inputs, found a number that varies");
  ExpectRefused([](TestProgram& it) { it.weights["config"]["fc.weight"]["use_pickle"] = true; },
                ErrorCode::kInvalidArgument, "'fc.weight': is a pickle, which may hold a program");
  ExpectRefused(
      [](TestProgram& it) { it.weights["config"]["fc.weight"]["tensor_meta"]["layout"] = 2; },
      ErrorCode::kInvalidArgument, "expected a dense tensor, found one of layout 2");
  ExpectRefused([](TestProgram& it) { it.tensors()["y"]["dtype"] = 29; },
                ErrorCode::kInvalidArgument,
                "node 0 (torch.ops.aten.linear.default): 'y': dtype: expected a type of numbers "
                "from uint8 (1) to bfloat16 (13), found one numbered 29");
}

TEST(ProgramReaderTest, SaysWhatIsMissing) {
  for (const std::string member :
       {"/schema_version", "/schema_version/major", "/range_constraints", "/graph_module",
        "/graph_module/graph", "/graph_module/signature", "/graph_module/signature/input_specs",
        "/graph_module/graph/inputs", "/graph_module/graph/outputs", "/graph_module/graph/nodes",
        "/graph_module/graph/tensor_values", "/graph_module/graph/tensor_values/y/dtype",
        "/graph_module/graph/tensor_values/y/sizes", "/graph_module/graph/nodes/0/target",
        "/graph_module/graph/nodes/0/inputs", "/graph_module/graph/nodes/0/outputs",
        "/graph_module/graph/nodes/0/inputs/0/arg", "/graph_module/graph/nodes/0/inputs/0/name"}) {
    TestProgram made = TestProgram::Minimal();
    const auto pointer = Json::json_pointer(member);
    made.program[pointer.parent_pointer()].erase(pointer.back());
    ExpectRefused(made.Read(), ErrorCode::kCorruption,
                  fmt::format("expected a member '{}', found none", pointer.back()));
    // And what is there, but is something else.
    made.program[pointer] = true;
    ExpectRefused(made.Read(), ErrorCode::kCorruption, "expected");
  }
  ExpectRefused([](TestProgram& it) { it.weights.erase("config"); }, ErrorCode::kCorruption,
                "the list of weights: expected a member 'config', found none");
  ExpectRefused([](TestProgram& it) { it.constants.erase("config"); }, ErrorCode::kCorruption,
                "the list of constants: expected a member 'config', found none");
}

TEST(ProgramReaderTest, RefusesWhatIsNoJson) {
  const TestProgram made = TestProgram::Minimal();
  const std::string program = made.program.dump();
  const std::string weights = made.weights.dump();
  EXPECT_TRUE(ReadProgram(program, weights, ""));
  ExpectRefused(ReadProgram(program.substr(1), weights, ""), ErrorCode::kCorruption,
                "the program: expected one JSON object");
  ExpectRefused(ReadProgram(program, "[]", ""), ErrorCode::kCorruption, "the list of weights: ");
  ExpectRefused(ReadProgram(program, weights, "{"), ErrorCode::kCorruption,
                "the list of constants: ");
  ExpectRefused(ReadProgram("{\"a\":" + std::string(100'000, '['), weights, ""),
                ErrorCode::kCorruption, "nested at most 200 deep");
}

TEST(ProgramReaderTest, EveryReferenceLeadsToWhatIsMadeBefore) {
  ExpectRefused(
      [](TestProgram& it) { it.nodes()[0]["inputs"][0]["arg"] = TestProgram::Tensor("z"); },
      ErrorCode::kCorruption, "'z' is used, but nothing before makes it");
  // Its own output, and that of a later one.
  ExpectRefused(
      [](TestProgram& it) { it.nodes()[0]["inputs"][0]["arg"] = TestProgram::Tensor("y"); },
      ErrorCode::kCorruption, "'y' is used, but nothing before makes it");
  ExpectRefused([](TestProgram& it) { it.graph()["outputs"][0] = TestProgram::Tensor("z"); },
                ErrorCode::kCorruption, "outputs: 'z' is used");
  ExpectRefused([](TestProgram& it) { it.nodes().push_back(it.nodes()[0]); },
                ErrorCode::kCorruption,
                "node 1 (torch.ops.aten.linear.default): 'y' is made twice");
  ExpectRefused([](TestProgram& it) { it.AddInput("x", it.tensors()["x"]); },
                ErrorCode::kCorruption, "input 2: 'x' is made twice");
  ExpectRefused([](TestProgram& it) { it.tensors().erase("y"); }, ErrorCode::kCorruption,
                "'y' has no entry in tensor_values");
  ExpectRefused([](TestProgram& it) { it.graph()["inputs"].erase(0); }, ErrorCode::kCorruption,
                "expected as many inputs as the signature has, 2, found 1");
}

TEST(ProgramReaderTest, TensorsAndNumbersAreNotMistakenForEachOther) {
  TestProgram made = TestProgram::Minimal();
  const Json made_number = {{"as_sym_int", {{"as_name", "n"}}}};
  made.nodes().push_back(
      TestProgram::Node("torch.ops.aten.sym_size.int",
                        Json::array({TestProgram::Argument("self", TestProgram::Tensor("x")),
                                     TestProgram::Argument("dim", {{"as_int", 0}})}),
                        Json::array({made_number})));
  made.nodes().push_back(
      TestProgram::Node("_operator.mul",
                        Json::array({TestProgram::Argument("", made_number),
                                     TestProgram::Argument("", {{"as_int", 2}})}),
                        Json::array({{{"as_sym_int", {{"as_name", "m"}}}}})));
  const Graph graph = ReadGraph(made);
  ASSERT_EQ(graph.nodes.size(), 3U);
  EXPECT_EQ(graph.nodes[2].op, "operator.mul");
  EXPECT_EQ(graph.nodes[2].name, "m");
  EXPECT_EQ(graph.value(*graph.nodes[2].outputs[0]).kind, Value::Kind::kInteger);

  made.nodes()[2]["inputs"][0]["arg"] = TestProgram::Tensor("n");
  ExpectRefused(made.Read(), ErrorCode::kCorruption, "'n': expected a tensor, found a number");
  made.nodes()[2]["inputs"][0]["arg"] = {{"as_sym_int", {{"as_name", "y"}}}};
  ExpectRefused(made.Read(), ErrorCode::kCorruption, "'y': expected a number, found a tensor");
}

TEST(ProgramReaderTest, TheProgramAndTheListsAgree) {
  ExpectRefused(
      [](TestProgram& it) {
        it.weights["config"]["fc.weight"] = TestProgram::Stored({4, 3}, "weight_0");
      },
      ErrorCode::kCorruption,
      "'fc.weight': the program has float32 [3, 4], the list of tensors float32 [4, 3]");
  ExpectRefused(
      [](TestProgram& it) { it.weights["config"]["fc.weight"]["tensor_meta"]["dtype"] = 8; },
      ErrorCode::kCorruption, "the program has float32 [3, 4], the list of tensors float64 [3, 4]");
  ExpectRefused([](TestProgram& it) { it.weights["config"].erase("fc.weight"); },
                ErrorCode::kCorruption, "'fc.weight' is in none of the lists of tensors");
  ExpectRefused([](TestProgram& it) { it.constants = it.weights; }, ErrorCode::kCorruption,
                "the list of constants: 'fc.weight': is in the list of weights, too");
  ExpectRefused([](TestProgram& it) { it.AddParameter("fc.weight", "p_2", {3, 4}, "weight_0"); },
                ErrorCode::kCorruption, "'fc.weight' is there twice");
  ExpectRefused(
      [](TestProgram& it) { it.weights["config"]["fc.weight"]["tensor_meta"]["strides"].erase(0); },
      ErrorCode::kCorruption, "expected a stride for each of 2 sizes, found 1");
}

TEST(ProgramReaderTest, BoundsSizes) {
  for (const std::int64_t number : {std::int64_t{-1}, kMaxSize + 1, INT64_MIN, INT64_MAX}) {
    ExpectRefused(
        [&](TestProgram& it) { it.tensors()["y"]["sizes"][1] = TestProgram::Number(number); },
        ErrorCode::kCorruption,
        fmt::format("expected sizes from 0 to {}, found {}", kMaxSize, number));
    for (const std::string place : {"/sizes/0", "/strides/0", "/storage_offset"}) {
      ExpectRefused(
          [&](TestProgram& it) {
            it.weights["config"]["fc.weight"]["tensor_meta"][Json::json_pointer(place)] =
                TestProgram::Number(number);
          },
          ErrorCode::kCorruption,
          fmt::format("expected numbers from 0 to {}, found {}", kMaxSize, number));
    }
  }
  ExpectRefused([](TestProgram& it) { it.tensors()["y"]["sizes"][1] = {{"as_int", UINT64_MAX}}; },
                ErrorCode::kCorruption, "as_int: expected an integer, found one that is too large");
  const std::vector<Json> many(kMaxRank + 1, TestProgram::Number(1));
  ExpectRefused([&](TestProgram& it) { it.tensors()["y"] = TestProgram::Meta(many); },
                ErrorCode::kInvalidArgument, "expected at most 64 dimensions, found 65");
  ExpectRefused(
      [&](TestProgram& it) { it.weights["config"]["fc.weight"]["tensor_meta"]["sizes"] = many; },
      ErrorCode::kInvalidArgument, "sizes: expected at most 64 dimensions, found 65");
  // A product that would not fit, though one factor is nothing.
  const Json large = TestProgram::Number(kMaxSize);
  ExpectRefused(
      [&](TestProgram& it) {
        it.tensors()["y"] = TestProgram::Meta({large, TestProgram::Number(0), large});
      },
      ErrorCode::kInvalidArgument, "expected tensors of at most");
  ExpectRefused(
      [&](TestProgram& it) {
        it.weights["config"]["fc.weight"]["tensor_meta"]["sizes"] =
            Json::array({TestProgram::Number(0), large, large});
      },
      ErrorCode::kInvalidArgument, "expected at most 1099511627776 elements");
}

TEST(ProgramReaderTest, SymbolsAreOneNumberEach) {
  TestProgram made = TestProgram::Minimal();
  made.tensors()["y"]["sizes"][0] =
      TestProgram::Symbol("Mul(Integer(4), Symbol('s0', integer=True))", 8);
  EXPECT_EQ(ReadGraph(made).value(ReadGraph(made).outputs[0]).sizes[0].symbol, "4*s0");
  made.tensors()["y"]["sizes"][0]["as_expr"].erase("hint");
  EXPECT_EQ(ReadGraph(made).value(ReadGraph(made).outputs[0]).sizes[0].number, -1)
      << "nothing is known";

  ExpectRefused(
      [](TestProgram& it) {
        it.tensors()["x"]["sizes"][0] = TestProgram::Symbol("Mul(Integer(4), Symbol('s0'))", 8);
      },
      ErrorCode::kInvalidArgument, "'x': expected a number or a symbol as its size, found 4*s0");
  ExpectRefused([](TestProgram& it) { it.tensors()["x"]["sizes"][0]["as_expr"].erase("hint"); },
                ErrorCode::kCorruption, "'x': expected what s0 was in the example, found nothing");
  ExpectRefused(
      [](TestProgram& it) {
        it.tensors()["x"]["sizes"][1] = TestProgram::Symbol("Symbol('s0')", 4);
      },
      ErrorCode::kCorruption, "'x': expected s0 to be 2 as before, found 4");
  ExpectRefused([](TestProgram& it) { it.tensors()["x"]["sizes"][0] = TestProgram::Symbol("", 2); },
                ErrorCode::kCorruption, "expr_str: expected a formula, found nothing");
  ExpectRefused([](TestProgram& it) { it.tensors()["x"]["sizes"][0] = {{"as_float", 2}}; },
                ErrorCode::kCorruption, "size: expected 'as_int' or 'as_expr', found 'as_float'");
  ExpectRefused([](TestProgram& it) { it.program["range_constraints"]["s0"]["min_val"] = 3; },
                ErrorCode::kCorruption,
                "range_constraints: s0: expected 3 to 9223372036854775807, found 2");
}

TEST(ProgramReaderTest, TiedWeightsAreOneTensor) {
  TestProgram made = TestProgram::Minimal();
  made.AddParameter("row", "p_row", {4}, "weight_0");  // part of the first
  made.AddParameter("tied", "p_tied", {3, 4}, "weight_0");
  made.AddParameter("row_again", "p_row_again", {4}, "weight_0");
  made.AddParameter("turned", "p_turned", {3, 4}, "weight_0");
  made.weights["config"]["turned"]["tensor_meta"]["strides"] =
      Json::array({TestProgram::Number(1), TestProgram::Number(3)});
  const Graph graph = ReadGraph(made);
  ASSERT_EQ(graph.parameters.size(), 5U);
  EXPECT_EQ(graph.parameters[0].tied_to, std::nullopt);
  EXPECT_EQ(graph.parameters[1].tied_to, std::nullopt);
  EXPECT_EQ(graph.parameters[2].tied_to, 0U);
  EXPECT_EQ(graph.parameters[3].tied_to, 1U);
  EXPECT_EQ(graph.parameters[4].tied_to, std::nullopt);
}

TEST(ProgramReaderTest, BuffersAndConstantsAreHeldToo) {
  TestProgram made = TestProgram::Minimal();
  made.AddParameter("mean", "b_mean", {3}, "weight_1");
  made.specs().back() = {
      {"buffer", {{"arg", {{"name", "b_mean"}}}, {"buffer_name", "mean"}, {"persistent", true}}}};
  made.AddParameter("mask", "b_mask", {3}, "weight_2");
  made.specs().back() = {
      {"buffer", {{"arg", {{"name", "b_mask"}}}, {"buffer_name", "mask"}, {"persistent", false}}}};
  made.AddParameter("scale", "c_scale", {}, "tensor_0");
  made.specs().back() = {
      {"tensor_constant", {{"arg", {{"name", "c_scale"}}}, {"tensor_constant_name", "scale"}}}};
  made.constants["config"]["scale"] = made.weights["config"]["scale"];
  made.weights["config"].erase("scale");
  const Graph graph = ReadGraph(made);
  ASSERT_EQ(graph.parameters.size(), 4U);
  EXPECT_EQ(graph.parameters[1].role, Parameter::Role::kBuffer);
  EXPECT_TRUE(graph.parameters[1].persistent);
  EXPECT_FALSE(graph.parameters[2].persistent);
  EXPECT_EQ(graph.parameters[3].role, Parameter::Role::kConstant);
  EXPECT_FALSE(graph.parameters[3].persistent);
  EXPECT_EQ(graph.parameters[3].storage.member, "constants/tensor_0");
}

TEST(ProgramReaderTest, ReadsArgumentsOfEveryKind) {
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

TEST(ProgramReaderTest, ReadsOptionalTensorsAndLists) {
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

TEST(ProgramReaderTest, RefusesArgumentsThatAreNotWhatTheySay) {
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

// Not JSON, but what Python writes unless it is told not to.
TEST(ProgramReaderTest, ReadsInfinitiesWithoutQuotes) {
  TestProgram made = TestProgram::Minimal();
  made.nodes()[0]["inputs"].push_back(TestProgram::Argument("low", {{"as_float", "-Infinity"}}));
  std::string program = made.program.dump();
  program.replace(program.find("\"-Infinity\""), 11, "-Infinity");
  const auto graph = ReadProgram(program, made.weights.dump(), "");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(std::get<double>(Find(graph->nodes[0], "low")->value), -INFINITY);
}

// The node `y = linear(x, weight)`, as a region around it, once for each op.
TestProgram Wrapped(const std::vector<std::string>& ops) {
  TestProgram made = TestProgram::Minimal();
  for (const std::string& op : ops) {
    Json body = made.graph();
    Json inputs = Json::array();
    if (op == "wrap_with_set_grad_enabled") {
      inputs.push_back(TestProgram::Argument("", {{"as_bool", false}}));
    } else if (op == "wrap_with_autocast") {
      inputs.push_back(TestProgram::Argument("", {{"as_string", "cpu"}}));
      inputs.push_back(TestProgram::Argument("", {{"as_scalar_type", 13}}));
      inputs.push_back(TestProgram::Argument("", {{"as_bool", true}}));
      inputs.push_back(TestProgram::Argument("", {{"as_none", true}}));
    }
    const Json graph = {{"name", "body"}, {"graph", body}};
    inputs.push_back(TestProgram::Argument("", {{"as_graph", graph}}));
    for (const std::string name : {"p_weight", "x"})
      inputs.push_back(TestProgram::Argument("", TestProgram::Tensor(name)));
    made.nodes() = Json::array({TestProgram::Node("torch.ops.higher_order." + op, inputs,
                                                  Json::array({TestProgram::Tensor("y")}))});
  }
  return made;
}

TEST(ProgramReaderTest, UnfoldsRegions) {
  const Graph graph = ReadGraph(Wrapped({"wrap_with_autocast", "wrap_with_set_grad_enabled"}));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, "aten.linear.default");
  EXPECT_EQ(graph.outputs[0], *graph.nodes[0].outputs[0]);
  EXPECT_EQ(std::get<ValueId>(graph.nodes[0].arguments[0].value), graph.inputs[0]);
  ASSERT_TRUE(graph.nodes[0].region);
  const Region& region = graph.regions[*graph.nodes[0].region];
  EXPECT_TRUE(region.no_grad) << "what holds outside holds inside";
  EXPECT_EQ(region.autocast_device, "cpu");
  EXPECT_TRUE(region.autocast_enabled);
}

TEST(ProgramReaderTest, WhatRegionsMakeGetsNamesOfItsOwn) {
  TestProgram made = Wrapped({"wrap_with_set_grad_enabled"});
  constexpr int kRegions = 3'000;
  Json again = made.nodes()[0];
  for (int i = 1; i < kRegions; ++i) {
    again["outputs"][0] = TestProgram::Tensor(fmt::format("y{}", i));
    made.nodes().push_back(again);
  }
  const Graph graph = ReadGraph(made);
  ASSERT_EQ(graph.nodes.size(), static_cast<std::size_t>(kRegions));
  EXPECT_EQ(graph.value(*graph.nodes[0].outputs[0]).name, "y");
  EXPECT_EQ(graph.value(*graph.nodes[1].outputs[0]).name, "y_1");
  EXPECT_EQ(graph.value(*graph.nodes[kRegions - 1].outputs[0]).name, "y_2999");
}

TEST(ProgramReaderTest, ARegionMayGiveNothing) {
  TestProgram made = Wrapped({"wrap_with_set_grad_enabled"});
  const Json none = {{"as_none", true}};
  made.nodes()[0]["inputs"][1]["arg"]["as_graph"]["graph"]["outputs"].push_back(none);
  ExpectRefused(made.Read(), ErrorCode::kCorruption, "expected 2 outputs, found 1");
  made.nodes()[0]["outputs"].push_back(none);
  EXPECT_EQ(ReadGraph(made).outputs.size(), 1U);
}

TEST(ProgramReaderTest, NamesWhatIsNotSupported) {
  ExpectRefused(Wrapped({"cond"}).Read(), ErrorCode::kInvalidArgument,
                "node 0 (torch.ops.higher_order.cond): 'cond' is not supported: only what runs the "
                "same way each time can be read, not branches and loops that depend on data");
  ExpectRefused(Wrapped({"while_loop", "wrap_with_set_grad_enabled"}).Read(),
                ErrorCode::kInvalidArgument,
                "node 0 (torch.ops.higher_order.wrap_with_set_grad_enabled): node 0 "
                "(torch.ops.higher_order.while_loop): 'while_loop' is not supported");
}

TEST(ProgramReaderTest, RefusesRegionsThatAreDamaged) {
  const std::vector<std::string> no_grad = {"wrap_with_set_grad_enabled"};
  ExpectRefused(Wrapped(std::vector<std::string>(kMaxRegionDepth + 1, no_grad[0])).Read(),
                ErrorCode::kInvalidArgument, "expected regions at most 16 deep");
  EXPECT_TRUE(Wrapped(std::vector<std::string>(kMaxRegionDepth, no_grad[0])).Read());
  const auto refused = [](const std::string& op, const std::string& place, const Json& value,
                          const std::string& message) {
    TestProgram made = Wrapped({op});
    made.nodes()[0][Json::json_pointer(place)] = value;
    ExpectRefused(made.Read(), ErrorCode::kCorruption, message);
  };
  refused("wrap_with_set_grad_enabled", "/inputs/0/arg", {{"as_int", 0}},
          "argument 0: expected true or false");
  refused("wrap_with_autocast", "/inputs/0/arg", {{"as_string", ""}},
          "argument 0: expected the name of a device");
  refused("wrap_with_autocast", "/inputs/2/arg", {{"as_none", true}},
          "argument 2: expected true or false");
  refused("wrap_with_set_grad_enabled", "/inputs/1/arg/as_graph", {{"name", "body"}},
          "expected a member 'graph', found none");
  refused("wrap_with_set_grad_enabled", "/inputs/2/arg", {{"as_int", 1}},
          "operand 0: expected a value");
  refused("wrap_with_set_grad_enabled", "/inputs/2/arg", TestProgram::Tensor("y"),
          "'y' is used, but nothing before makes it");
  refused("wrap_with_set_grad_enabled", "/inputs/1/arg/as_graph/graph/inputs", Json::array(),
          "expected 0 operands, found 2");
}

// This would take minutes if it took time by the square of what there is.
TEST(ProgramReaderTest, ReadsManySymbols) {
  constexpr int kSymbols = 50'000;
  std::string inputs;
  std::string specs;
  std::string tensors;
  std::string ranges;
  for (int i = 0; i < kSymbols; ++i) {
    const std::string x = fmt::format(R"({{"as_tensor":{{"name":"x{}"}}}})", i);
    inputs += x + ",";
    specs += fmt::format(R"({{"user_input":{{"arg":{}}}}},)", x);
    const std::string size = TestProgram::Symbol(fmt::format("Symbol('t{}')", i), 2).dump();
    tensors += fmt::format(R"("x{}":{{"dtype":7,"sizes":[{}]}},)", i, size);
    ranges += fmt::format(R"("t{}":{{"min_val":2,"max_val":9}},)", i);
  }
  std::string program = TestProgram::Minimal().program.dump();
  const auto insert = [&](std::string_view behind, const std::string& text) {
    program.insert(program.find(behind) + behind.size(), text);
  };
  insert(R"("inputs":[)", inputs);
  insert(R"("input_specs":[)", specs);
  insert(R"("tensor_values":{)", tensors);
  insert(R"("range_constraints":{)", ranges);
  const auto graph = ReadProgram(program, TestProgram::Minimal().weights.dump(), "");
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->symbols.size(), kSymbols + 1U);
  EXPECT_EQ(graph->symbols.front().name, "t0");
  EXPECT_EQ(graph->symbols.front().most, 9);
}

}  // namespace
}  // namespace sluice::model
