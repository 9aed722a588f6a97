#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph.h"
#include "model/read/program_reader.h"

namespace sluice::model {

// The texts of an archive. A test can change them before it reads them. Minimal() is the program y
// = linear(x, weight). The shape of x is [s0, 4], with s0 = 2 in the example. The shape of weight
// is [3, 4].
struct TestProgram {
  using Json = nlohmann::ordered_json;

  Json program;
  Json weights = {{"config", Json::object()}};
  Json constants = {{"config", Json::object()}};

  static Json Number(std::int64_t number) { return {{"as_int", number}}; }
  static Json Symbol(std::string_view formula, std::int64_t hint) {
    return {{"as_expr", {{"expr_str", formula}, {"hint", Number(hint)}}}};
  }
  static Json Tensor(std::string_view name) { return {{"as_tensor", {{"name", name}}}}; }
  static Json Argument(std::string_view name, Json value, int kind = 1) {
    return {{"name", name}, {"arg", std::move(value)}, {"kind", kind}};
  }
  static Json Node(std::string_view target, Json inputs, Json outputs) {
    return {{"target", target},
            {"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)},
            {"metadata", {{"nn_module_stack", "L__self__,,M;L__self__fc,fc,torch.nn.Linear"}}}};
  }
  static Json Meta(const std::vector<Json>& sizes, int dtype = 7) {
    return {{"dtype", dtype}, {"sizes", sizes}};
  }
  // The entry of a contiguous tensor in `weights` or `constants`.
  static Json Stored(const std::vector<std::int64_t>& sizes, std::string_view path) {
    Json meta = {{"dtype", 7},
                 {"sizes", Json::array()},
                 {"requires_grad", true},
                 {"strides", Json::array()},
                 {"storage_offset", Number(0)},
                 {"layout", 7}};
    std::int64_t stride = 1;
    for (const std::int64_t size : sizes) stride *= size;
    for (const std::int64_t size : sizes) {
      stride /= size;
      meta["sizes"].push_back(Number(size));
      meta["strides"].push_back(Number(stride));
    }
    return {{"path_name", path}, {"is_param", true}, {"use_pickle", false}, {"tensor_meta", meta}};
  }

  static TestProgram Minimal() {
    TestProgram made;
    const Json batch = Symbol("Symbol('s0', integer=True)", 2);
    made.program = {
        {"schema_version", {{"major", 8}, {"minor", 20}}},
        {"torch_version", "2.13.0"},
        {"verifiers", {"TRAINING"}},
        {"range_constraints", {{"s0", {{"min_val", 1}, {"max_val", nullptr}}}}},
        {"graph_module",
         {{"graph",
           {{"inputs", Json::array()},
            {"outputs", Json::array({Tensor("y")})},
            {"nodes", Json::array({Node("torch.ops.aten.linear.default",
                                        Json::array({Argument("input", Tensor("x")),
                                                     Argument("weight", Tensor("p_weight"))}),
                                        Json::array({Tensor("y")}))})},
            {"tensor_values", {{"y", Meta({batch, Number(3)})}}},
            {"sym_int_values", Json::object()}}},
          {"signature", {{"input_specs", Json::array()}}}}}};
    made.AddParameter("fc.weight", "p_weight", {3, 4}, "weight_0");
    made.AddInput("x", Meta({batch, Number(4)}));
    return made;
  }

  Json& graph() { return program["graph_module"]["graph"]; }
  Json& nodes() { return graph()["nodes"]; }
  Json& tensors() { return graph()["tensor_values"]; }
  Json& specs() { return program["graph_module"]["signature"]["input_specs"]; }

  void AddInput(std::string_view name, Json meta) {
    graph()["inputs"].push_back(Tensor(name));
    specs().push_back({{"user_input", {{"arg", Tensor(name)}}}});
    tensors()[name] = std::move(meta);
  }
  void AddParameter(std::string_view name, std::string_view inside,
                    const std::vector<std::int64_t>& sizes, std::string_view path) {
    graph()["inputs"].push_back(Tensor(inside));
    specs().push_back({{"parameter", {{"arg", {{"name", inside}}}, {"parameter_name", name}}}});
    std::vector<Json> numbers;
    for (const std::int64_t size : sizes) numbers.push_back(Number(size));
    tensors()[inside] = Meta(numbers);
    weights["config"][name] = Stored(sizes, path);
  }

  Result<Graph> Read() const {
    return ReadProgram(program.dump(), weights.dump(), constants.dump());
  }
};

using Json = TestProgram::Json;

inline void ExpectRefused(const Result<Graph>& read, ErrorCode code, const std::string& message) {
  ASSERT_FALSE(read) << message;
  EXPECT_EQ(read.error().code, code) << read.error().message;
  EXPECT_THAT(read.error().message, testing::HasSubstr(message));
}

// Expects that the smallest program is refused after this change.
inline void ExpectRefused(const std::function<void(TestProgram&)>& change, ErrorCode code,
                          const std::string& message) {
  TestProgram made = TestProgram::Minimal();
  change(made);
  ExpectRefused(made.Read(), code, message);
}

// Reads a program, and expects that it is not refused.
inline Graph ReadGraph(const TestProgram& made) {
  auto read = made.Read();
  EXPECT_TRUE(read) << read.error().message;
  return read ? *std::move(read) : Graph();
}

}  // namespace sluice::model
