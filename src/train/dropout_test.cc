#include "train/dropout.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/program.h"
#include "train/test_graph.h"

namespace sluice::train {
namespace {

using testing::HasSubstr;
using Given = GraphMaker::Given;

constexpr double kRate = 0.3;

// Every operator that drops something, behind a weight of each trial.
model::Graph EveryDropout(double rate, bool trains) {
  GraphMaker maker;
  const auto x = maker.Input();
  const auto w = maker.Parameter("weight");
  auto y = maker.Call("aten.mul.Tensor", {x, w});  // [2, 4, 3, 5]
  for (const char* op : {"aten.dropout.default", "aten.feature_dropout.default",
                         "aten.alpha_dropout.default", "aten.feature_alpha_dropout.default"})
    y = maker.Call(op, {y, rate, trains});
  y = maker.Call("aten.scaled_dot_product_attention.default",
                 {y, y, y, Given(), trains ? rate : 0.0});
  std::vector<std::int64_t> sizes = {8, 3, 5};
  std::vector<model::IntegerOrValue> list;
  for (const std::int64_t each : sizes) list.push_back({.number = each, .value = {}});
  const auto rows = maker.Call("aten.view.default", {y, list});
  std::vector<std::optional<model::ValueId>> weights;
  for (int layer = 0; layer < 2; ++layer)
    for (const char* name : {"in", "hidden"})
      weights.emplace_back(maker.Parameter(name + std::to_string(layer)));
  const auto state = maker.Parameter("state", false);
  const auto out =
      maker.CallMany("aten.gru.input",
                     {rows, state, weights, false, std::int64_t{2}, rate, trains, false, false}, 2);
  for (std::size_t i = 0; i < maker.graph().nodes.size(); ++i)
    maker.graph().nodes[i].label = "layers." + std::to_string(i);
  return maker.Finish({out[0], y});
}

std::vector<at::Tensor> Weights(std::int64_t trials) {
  std::vector<at::Tensor> made = {Numbers({trials, 2, 4, 3, 5}, 1)};
  for (const int inputs : {5, 5, 5, 5})
    made.push_back(Numbers({trials, 15, inputs}, 2 + made.size()));
  made.push_back(Numbers({2, 3, 5}, 9));
  return made;
}

Result<Outcome> RunWith(const Program& program, const std::vector<at::Tensor>& parameters,
                        const std::vector<CounterDraws::Trial>& trials,
                        const std::vector<DropoutRates>& rates) {
  const std::vector<Value> inputs = {Shared(Numbers({2, 4, 3, 5}, 50))};
  const CounterDraws draws(trials);
  return program.Run({.trials = static_cast<std::int64_t>(trials.size()),
                      .parameters = parameters,
                      .inputs = inputs,
                      .draws = &draws,
                      .dropout = rates});
}

std::vector<DropoutRates> ForAll(const model::Graph& graph, const std::vector<double>& rates) {
  std::vector<DropoutRates> all;
  for (const DropoutNode& each : DropoutNodes(graph)) all.push_back({each.node, rates});
  return all;
}

TEST(DropoutTest, TheRateOfTheGraphForEachTrialGivesTheSameBits) {
  const model::Graph graph = EveryDropout(kRate, true);
  const auto program = Program::Prepare(graph, {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  const std::vector<CounterDraws::Trial> trials = {{3, 1}, {4, 1}, {5, 2}};
  const auto plain = RunWith(*program, Weights(3), trials, {});
  ASSERT_TRUE(plain) << plain.error().message;
  const auto set = RunWith(*program, Weights(3), trials, ForAll(graph, {kRate, kRate, kRate}));
  ASSERT_TRUE(set) << set.error().message;
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(at::equal(plain->outputs[i].tensor, set->outputs[i].tensor)) << i;
}

TEST(DropoutTest, ATrialIsAsAloneAmongTrialsOfOtherRates) {
  const model::Graph graph = EveryDropout(kRate, true);
  const auto program = Program::Prepare(graph, {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  const std::vector<double> rates = {0, 0.5, 0.1};
  const std::vector<CounterDraws::Trial> trials = {{3, 1}, {4, 1}, {5, 2}};
  const std::vector<at::Tensor> weights = Weights(3);
  const auto together = RunWith(*program, weights, trials, ForAll(graph, rates));
  ASSERT_TRUE(together) << together.error().message;
  for (std::int64_t trial = 0; trial < 3; ++trial) {
    // Alone, the graph itself has the rate of the trial; but for one that drops nothing.
    const bool drops = rates[trial] > 0;
    const model::Graph own = drops ? EveryDropout(rates[trial], true) : graph;
    const auto prepared = Program::Prepare(own, {.real = at::kDouble});
    ASSERT_TRUE(prepared) << prepared.error().message;
    std::vector<at::Tensor> held;
    for (std::size_t i = 0; i < weights.size(); ++i)
      held.push_back(program->stacked(i) ? weights[i].narrow(0, trial, 1) : weights[i]);
    const auto alone = RunWith(*prepared, held, {trials[trial]},
                               drops ? std::vector<DropoutRates>() : ForAll(own, {0}));
    ASSERT_TRUE(alone) << alone.error().message;
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_LT(Difference(OfTrial(together->outputs[i], trial), OfTrial(alone->outputs[i], 0)),
                1e-12)
          << "trial " << trial << ", output " << i;
  }
}

TEST(DropoutTest, RatesThatCannotBeAreRefused) {
  const model::Graph graph = EveryDropout(kRate, true);
  const auto program = Program::Prepare(graph, {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  const auto refusal = [&](DropoutRates rates) {
    const auto found = RunWith(*program, Weights(2), {{1, 1}, {2, 1}}, {std::move(rates)});
    return found ? "" : found.error().message;
  };
  EXPECT_THAT(refusal({model::NodeId{0}, {0.1, 0.2}}),
              HasSubstr("expected rates for nodes that drop something, found them for node 0"));
  EXPECT_THAT(refusal({model::NodeId{1}, {0.1}}), HasSubstr("expected 2 rates, found 1"));
  EXPECT_THAT(refusal({model::NodeId{1}, {0.1, 1.5}}), HasSubstr("from 0 to 1, found 1.5"));
  EXPECT_THAT(refusal({model::NodeId{1}, {0.1, NAN}}), HasSubstr("from 0 to 1, found nan"));
  EXPECT_THAT(refusal({model::NodeId{3}, {0.1, 1}}), HasSubstr("below 1, found 1"));
}

}  // namespace
}  // namespace sluice::train
