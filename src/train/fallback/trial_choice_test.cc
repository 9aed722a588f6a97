#include "train/fallback/trial_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/fallback/vmap.h"
#include "train/program.h"
#include "train/test_graph.h"

namespace sluice::train {
namespace {

// A node without a rule, of a parameter in these sizes and an input in those.
struct Lonely {
  std::string op;
  std::vector<std::int64_t> own;
  std::vector<std::int64_t> common;  // empty: it takes the parameter alone
  std::vector<GraphMaker::Given> more = {};
};

model::Graph GraphOf(const Lonely& about, bool sizes_are_known) {
  GraphMaker maker;
  std::vector<GraphMaker::Given> given = {maker.Parameter("w")};
  if (!about.common.empty()) given.emplace_back(maker.Input());
  given.insert(given.end(), about.more.begin(), about.more.end());
  const auto y = maker.Call(about.op, given);
  const auto resize = [&](std::size_t value, const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t each : sizes)
      maker.graph().values[value].sizes.push_back({.number = sizes_are_known ? each : -1});
  };
  resize(0, about.own);
  if (!about.common.empty()) resize(1, about.common);
  return maker.Finish({y});
}

class TrialChoiceTest : public testing::TestWithParam<Lonely> {};

TEST_P(TrialChoiceTest, OneCallForAllTrialsIsTheLoopOverThem) {
  if (!Vmap::IsThere()) GTEST_SKIP() << "this build is without functorch";
  const Lonely& about = GetParam();
  const auto by_vmap = Program::Prepare(GraphOf(about, true), {.real = at::kDouble});
  const auto by_loop = Program::Prepare(GraphOf(about, false), {.real = at::kDouble});
  ASSERT_TRUE(by_vmap && by_loop);
  ASSERT_EQ(by_vmap->fallbacks().size(), 1u);
  EXPECT_TRUE(by_vmap->fallbacks()[0].vmap) << by_vmap->fallbacks()[0].why;
  ASSERT_EQ(by_loop->fallbacks().size(), 1u);
  EXPECT_FALSE(by_loop->fallbacks()[0].vmap);
  EXPECT_THAT(by_loop->fallbacks()[0].why, testing::HasSubstr("sizes of operands are unknown"));
  std::vector<std::int64_t> sizes = {3};
  sizes.insert(sizes.end(), about.own.begin(), about.own.end());
  std::vector<Value> inputs;
  if (!about.common.empty()) inputs.push_back(Shared(Numbers(about.common, 2)));
  const auto gradient = [&](const Program& program, Value& y) {
    const std::vector<at::Tensor> held = {Numbers(sizes, 1).requires_grad_()};
    auto outcome = program.Run({.trials = 3, .parameters = held, .inputs = inputs});
    EXPECT_TRUE(outcome) << outcome.error().message;
    y = outcome->outputs[0];
    EXPECT_EQ(outcome->looped.empty(), program.fallbacks()[0].vmap);
    At(y, 0, 3).square().sum().backward();
    return held[0].grad();
  };
  Value one, each;
  const at::Tensor of_one = gradient(*by_vmap, one);
  const at::Tensor of_each = gradient(*by_loop, each);
  EXPECT_LT(Difference(At(one, 0, 3), At(each, 0, 3)), 1e-12);
  EXPECT_LT(Difference(of_one, of_each), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Operators, TrialChoiceTest,
                         testing::Values(Lonely{"aten.trace.default", {4, 4}, {}},
                                         Lonely{"aten.cdist.default", {3, 4}, {5, 4}},
                                         Lonely{"aten.diag_embed.default", {2, 3}, {}},
                                         Lonely{"aten.linalg_cross.default", {2, 3}, {2, 3}}),
                         [](const auto& each) {
                           std::string name = each.param.op;
                           std::erase_if(name, [](char letter) {
                             return !std::isalnum(letter) && letter != '_';
                           });
                           return name;
                         });

TEST(RefusedByVmapTest, RunsTrialByTrial) {
  const auto program = Program::Prepare(
      GraphOf({"aten.histc.default", {6}, {}, {std::int64_t{3}}}, true), {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->fallbacks().size(), 1u);
  EXPECT_FALSE(program->fallbacks()[0].vmap);
  EXPECT_THAT(program->fallbacks()[0].why, testing::HasSubstr("vmap"));
  const std::vector<at::Tensor> held = {Numbers({2, 6}, 1)};
  const auto outcome = program->Run({.trials = 2, .parameters = held, .inputs = {}});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->looped.size(), 1u);
}

TEST(RandomOperandTest, NothingIsTriedThatIsLarge) {
  model::Value value;
  value.sizes = {{.number = std::int64_t{1} << 40}, {.number = 8}};
  EXPECT_FALSE(RandomOperand(value, true, 1).tensor.defined());
  value.sizes = {{.number = 1 << 12}, {.number = 1 << 12}};
  EXPECT_FALSE(RandomOperand(value, false, 1).tensor.defined());
}

}  // namespace
}  // namespace sluice::train
