#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/network.h"
#include "model/shrink/folding.h"
#include "model/shrink/parametrisation.h"
#include "model/shrink/shrink.h"
#include "train/program.h"
#include "train/test_graph.h"

// A network whose multipliers are folded computes what the network with its multipliers does.
namespace sluice::train {
namespace {

constexpr std::int64_t kRows = 2;

at::Tensor ParameterOf(const model::Graph& graph, std::size_t p) {
  const model::Parameter& parameter = graph.parameters[p];
  const model::DType dtype = graph.value(parameter.value).dtype;
  if (!model::IsFloating(dtype)) return at::zeros(parameter.sizes, at::kLong);
  const at::Tensor numbers = 0.3 * Numbers(parameter.sizes, 100 + p);
  return parameter.trainable ? numbers : numbers.abs() + 0.5;
}

at::Tensor InputFor(const model::Value& value) {
  Sizes sizes;
  for (const model::Size& size : value.sizes)
    sizes.push_back(size.symbol.empty() ? size.number : kRows);
  const at::Tensor numbers = Numbers(sizes, 1);
  return model::IsFloating(value.dtype) ? numbers
                                        : numbers.abs().mul(1000).to(at::kLong).remainder(2);
}

std::vector<Value> RunOnce(const model::Graph& graph, const std::vector<at::Tensor>& tensors) {
  const auto program = Program::Prepare(graph, {.real = at::kDouble});
  EXPECT_TRUE(program) << program.error().message;
  std::vector<at::Tensor> parameters = tensors;
  for (std::size_t p = 0; p < parameters.size(); ++p)
    if (parameters[p].defined() && program->stacked(p)) parameters[p] = parameters[p].unsqueeze(0);
  std::vector<Value> inputs;
  for (const model::ValueId input : graph.inputs)
    inputs.push_back(Shared(InputFor(graph.value(input))));
  const CounterDraws draws({{.seed = 1, .step = 1}});
  auto outcome =
      program->Run({.trials = 1, .parameters = parameters, .inputs = inputs, .draws = &draws});
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome ? outcome->outputs : std::vector<Value>();
}

struct FoldingCase {
  const char* network;
  std::size_t folded;  // how many multipliers can be folded
  std::size_t kept;
};

class FoldingRunsTest : public testing::TestWithParam<FoldingCase> {
 protected:
  FoldingRunsTest() { c10::set_default_dtype(caffe2::TypeMeta::Make<double>()); }
  ~FoldingRunsTest() override { c10::set_default_dtype(caffe2::TypeMeta::Make<float>()); }
};

TEST_P(FoldingRunsTest, FoldedMultipliersChangeNothing) {
  const model::Network network = *model::OpenNetwork(GetParam().network);
  const model::Shrunken narrow =
      *model::Shrink(network.graph, network.widths, {.scale = 4, .min_width = 2});
  const model::Parametrisation plan =
      *model::Parametrise(network.graph, network.widths, narrow, network.laws);
  std::vector<at::Tensor> tensors(narrow.graph.parameters.size());
  for (std::size_t p = 0; p < tensors.size(); ++p)
    if (!narrow.graph.parameters[p].tied_to) tensors[p] = ParameterOf(narrow.graph, p);
  const std::vector<Value> expected =
      RunOnce(model::Multiplied(narrow.graph, plan.multipliers), tensors);

  const std::vector<model::Folding> foldings =
      model::FoldMultipliers(narrow.graph, plan.multipliers);
  ASSERT_EQ(foldings.size(), plan.multipliers.size());
  std::vector<model::Multiplier> kept;
  for (std::size_t i = 0; i < foldings.size(); ++i) {
    EXPECT_EQ(foldings[i].parameters.empty(), !foldings[i].why_not.empty());
    if (foldings[i].parameters.empty()) kept.push_back(plan.multipliers[i]);
    for (const std::size_t p : foldings[i].parameters) tensors[p] = tensors[p] * foldings[i].factor;
  }
  EXPECT_EQ(kept.size(), GetParam().kept);
  EXPECT_EQ(foldings.size() - kept.size(), GetParam().folded);
  const std::vector<Value> found = RunOnce(model::Multiplied(narrow.graph, kept), tensors);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_LT(Difference(found[i].tensor, expected[i].tensor), 1e-12);
}

// In gpt the readout is a table too, and one map makes queries, keys and values. In pythia halves
// of queries and keys are rotated.
INSTANTIATE_TEST_SUITE_P(
    Zoo, FoldingRunsTest,
    testing::Values(FoldingCase{"zoo:mlp,in=12,hidden=32", 1, 0}, FoldingCase{"zoo:lenet", 1, 0},
                    FoldingCase{"zoo:vit-tiny,classes=10,image=32,patch=8,width=48,layers=2", 1, 0},
                    FoldingCase{"zoo:lstm-lm,vocab=30,tokens=5,width=16,hidden=16,layers=2", 1, 0},
                    FoldingCase{"zoo:gpt,vocab=30,tokens=6,width=32,layers=2,heads=1", 0, 3},
                    FoldingCase{"zoo:pythia-14m,vocab=30,tokens=6,width=32,layers=2,heads=1", 1, 2},
                    FoldingCase{
                        "zoo:bert-tiny,vocab=30,tokens=6,positions=8,width=32,layers=2,heads=1", 3,
                        0}));

}  // namespace
}  // namespace sluice::train
