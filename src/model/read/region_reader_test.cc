#include "model/read/region_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/read/program_limits.h"
#include "model/read/test_program.h"

namespace sluice::model {
namespace {

// The node `y = linear(x, weight)` in nested regions, one for each op. The last op is the outermost
// region.
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

TEST(RegionReaderTest, UnfoldsRegions) {
  const Graph graph = ReadGraph(Wrapped({"wrap_with_autocast", "wrap_with_set_grad_enabled"}));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, "aten.linear.default");
  EXPECT_EQ(graph.outputs[0], *graph.nodes[0].outputs[0]);
  EXPECT_EQ(std::get<ValueId>(graph.nodes[0].arguments[0].value), graph.inputs[0]);
  ASSERT_TRUE(graph.nodes[0].region);
  const Region& region = graph.regions[*graph.nodes[0].region];
  EXPECT_TRUE(region.no_grad) << "settings outside of a region apply inside too";
  EXPECT_EQ(region.autocast_device, "cpu");
  EXPECT_TRUE(region.autocast_enabled);
}

TEST(RegionReaderTest, WhatRegionsMakeGetsNamesOfItsOwn) {
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

TEST(RegionReaderTest, ARegionMayGiveNothing) {
  TestProgram made = Wrapped({"wrap_with_set_grad_enabled"});
  const Json none = {{"as_none", true}};
  made.nodes()[0]["inputs"][1]["arg"]["as_graph"]["graph"]["outputs"].push_back(none);
  ExpectRefused(made.Read(), ErrorCode::kCorruption, "expected 2 outputs, found 1");
  made.nodes()[0]["outputs"].push_back(none);
  EXPECT_EQ(ReadGraph(made).outputs.size(), 1U);
}

TEST(RegionReaderTest, NamesWhatIsNotSupported) {
  ExpectRefused(Wrapped({"cond"}).Read(), ErrorCode::kInvalidArgument,
                "node 0 (torch.ops.higher_order.cond): 'cond' is not supported: only what runs the "
                "same way each time can be read, not branches and loops that depend on data");
  ExpectRefused(Wrapped({"while_loop", "wrap_with_set_grad_enabled"}).Read(),
                ErrorCode::kInvalidArgument,
                "node 0 (torch.ops.higher_order.wrap_with_set_grad_enabled): node 0 "
                "(torch.ops.higher_order.while_loop): 'while_loop' is not supported");
}

TEST(RegionReaderTest, RefusesRegionsThatAreDamaged) {
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

}  // namespace
}  // namespace sluice::model
