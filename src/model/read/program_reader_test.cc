#include "model/read/program_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/read/program_limits.h"
#include "model/read/test_program.h"

namespace sluice::model {
namespace {

using testing::ElementsAre;

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
    // A member that is there, but has the wrong type.
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
  // A node cannot use its own output.
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
  // One size is 0, but the product of the other sizes would overflow.
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
      << "the size in the example is unknown";

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
  made.AddParameter("row", "p_row", {4}, "weight_0");  // a part of the first parameter
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

// This test would take minutes if the time grew with the square of the number of symbols.
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
