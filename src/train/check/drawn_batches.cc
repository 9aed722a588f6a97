#include "train/check/drawn_batches.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "train/check/appended.h"

namespace sluice::train {
namespace {

at::Tensor NormalNumbers(at::IntArrayRef sizes, std::uint64_t seed) {
  at::Tensor numbers = at::empty(sizes, at::kDouble);
  Random random(seed);
  double* into = numbers.data_ptr<double>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) into[i] = random.Normal();
  return numbers;
}

// Makes the network return the mean of the squares of its outputs, or of their distances to inputs
// that are added.
void ReturnMeanSquare(model::Graph& graph, bool to_inputs) {
  Appended appended(graph);
  std::optional<model::ValueId> sum;
  const std::vector<model::ValueId> outputs = graph.outputs;
  for (const model::ValueId output : outputs) {
    const model::Value& value = graph.value(output);
    if (value.kind != model::Value::Kind::kTensor || !model::IsFloating(value.dtype)) continue;
    const auto self = [](model::ValueId of) { return Appended::Argument("self", of); };
    const auto other = [](model::ValueId of) { return Appended::Argument("other", of); };
    model::ValueId distance = output;
    if (to_inputs) {
      const auto target = appended.AddInput(value);
      distance = appended.Add("aten.sub.Tensor", {self(output), other(target)});
    }
    const auto square = appended.Add("aten.square.default", {self(distance)});
    const auto mean = appended.Add("aten.mean.default", {self(square)});
    sum = sum ? appended.Add("aten.add.Tensor", {self(*sum), other(mean)}) : mean;
  }
  if (sum) graph.outputs = {*sum};
}

}  // namespace

DrawnBatches::DrawnBatches(const model::Graph& graph, at::ScalarType real) : real_(real) {
  for (const model::ValueId input : graph.inputs) {
    const model::Value& value = graph.value(input);
    Sizes sizes;
    for (const model::Size& size : value.sizes)
      sizes.push_back(size.symbol.empty() ? size.number : -1);
    inputs_.push_back({std::move(sizes), model::IsFloating(value.dtype)});
  }
}

Batch DrawnBatches::At(std::int64_t step, std::int64_t examples) const {
  Batch batch{.inputs = {}, .target = {}, .examples = examples};
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Sizes sizes = inputs_[i].sizes;
    std::ranges::replace(sizes, -1, examples);
    const at::Tensor numbers = NormalNumbers(sizes, static_cast<std::uint64_t>(step) * 10 + i);
    batch.inputs.push_back(
        Shared(inputs_[i].real ? numbers.to(real_) : numbers.gt(0).to(at::kLong)));
  }
  return batch;
}

Result<Batch> DrawnBatches::ForTraining(std::span<const std::int64_t> steps) {
  Batch batch = At(steps[0], kBatch);
  if (std::ranges::all_of(steps, [&](std::int64_t step) { return step == steps[0]; })) return batch;
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    std::vector<at::Tensor> each;
    for (const std::int64_t step : steps) each.push_back(At(step, kBatch).inputs[i].tensor);
    batch.inputs[i] = Stacked(at::stack(each));
  }
  return batch;
}

Result<Batch> DrawnBatches::ForEvaluation(std::int64_t first, std::int64_t count) const {
  // Other numbers than those of any step of training.
  return At(std::int64_t{1} << 40 | first, count);
}

void ReturnSquares(model::Graph& graph) { ReturnMeanSquare(graph, /*to_inputs=*/false); }

void ReturnDistances(model::Graph& graph) { ReturnMeanSquare(graph, /*to_inputs=*/true); }

}  // namespace sluice::train
