#include "train/check/drawn_batches.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace sluice::train {
namespace {

// Normal numbers from pairs of uniform ones (Box and Muller).
at::Tensor NormalNumbers(at::IntArrayRef sizes, std::uint64_t seed) {
  at::Tensor numbers = at::empty(sizes, at::kDouble);
  Random random(seed);
  double* into = numbers.data_ptr<double>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
    into[i] = radius * std::cos(2 * M_PI * random.Uniform());
  }
  return numbers;
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

void ReturnSquares(model::Graph& graph) {
  const auto add = [&](const std::string& op, std::vector<model::Argument> arguments) {
    const auto value = model::ValueId{static_cast<std::uint32_t>(graph.values.size())};
    graph.values.push_back({.name = "squares_" + std::to_string(graph.values.size())});
    graph.nodes.push_back({.name = graph.values.back().name,
                           .op = op,
                           .label = "squares",
                           .arguments = std::move(arguments),
                           .outputs = {value},
                           .returns_list = false,
                           .region = std::nullopt});
    return value;
  };
  const auto argument = [](std::string name, model::ValueId value) {
    return model::Argument{.name = std::move(name), .value = value, .keyword = false};
  };
  std::optional<model::ValueId> sum;
  for (const model::ValueId output : graph.outputs) {
    const model::Value& value = graph.value(output);
    if (value.kind != model::Value::Kind::kTensor || !model::IsFloating(value.dtype)) continue;
    const auto square = add("aten.square.default", {argument("self", output)});
    const auto mean = add("aten.mean.default", {argument("self", square)});
    sum = sum ? add("aten.add.Tensor", {argument("self", *sum), argument("other", mean)}) : mean;
  }
  if (sum) graph.outputs = {*sum};
}

}  // namespace sluice::train
