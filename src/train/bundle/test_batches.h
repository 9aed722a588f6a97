#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "model/graph.h"
#include "train/bundle/batches.h"
#include "train/test_graph.h"

// What tests of bundles train on.
namespace sluice::train {

// Batches of numbers that depend on the step and the input alone. Whole numbers are 0 and 1.
class DrawnBatches : public Batches {
 public:
  static constexpr std::int64_t kBatch = 4;
  static constexpr std::int64_t kStepsPerEpoch = 5;
  static constexpr std::int64_t kEvaluated = 10;

  DrawnBatches(const model::Graph& graph, at::ScalarType real) : real_(real) {
    for (const model::ValueId input : graph.inputs) {
      const model::Value& value = graph.value(input);
      Sizes sizes;
      for (const model::Size& size : value.sizes)
        sizes.push_back(size.symbol.empty() ? size.number : -1);
      inputs_.push_back({std::move(sizes), model::IsFloating(value.dtype)});
    }
  }

  std::int64_t batch() const override { return kBatch; }
  std::int64_t steps_per_epoch() const override { return kStepsPerEpoch; }
  Result<Batch> ForTraining(std::span<const std::int64_t> steps) override {
    const bool shared =
        std::ranges::all_of(steps, [&](std::int64_t step) { return step == steps[0]; });
    Batch batch = At(steps[0], kBatch);
    if (shared) return batch;
    for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
      std::vector<at::Tensor> each;
      for (const std::int64_t step : steps) each.push_back(At(step, kBatch).inputs[i].tensor);
      batch.inputs[i] = Stacked(at::stack(each));
    }
    return batch;
  }
  std::int64_t evaluation_examples() const override { return kEvaluated; }
  Result<Batch> ForEvaluation(std::int64_t first, std::int64_t count) const override {
    return At(1'000'000 + first, count);
  }

 private:
  struct Input {
    Sizes sizes;  // -1: the batch
    bool real = true;
  };

  Batch At(std::int64_t step, std::int64_t examples) const {
    Batch batch{.inputs = {}, .target = {}, .examples = examples};
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      Sizes sizes = inputs_[i].sizes;
      std::ranges::replace(sizes, -1, examples);
      const at::Tensor numbers = Numbers(sizes, static_cast<std::uint64_t>(step) * 10 + i);
      batch.inputs.push_back(Shared(
          inputs_[i].real ? numbers.to(real_) : numbers.abs().mul(1000).to(at::kLong).remainder(2)));
    }
    return batch;
  }

  at::ScalarType real_;
  std::vector<Input> inputs_;
};

// Makes the network return one number, the mean of the squares of all its real outputs, so that it
// can be trained without targets. A network that returns one number already stays as it is.
inline void ReturnSquares(model::Graph& graph) {
  const auto made = [&](const std::string& op, std::vector<model::Argument> arguments) {
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
  std::optional<model::ValueId> sum;
  for (const model::ValueId output : graph.outputs) {
    const model::Value& value = graph.value(output);
    if (value.kind != model::Value::Kind::kTensor || !model::IsFloating(value.dtype)) continue;
    const auto square =
        made("aten.square.default", {{.name = "self", .value = output, .keyword = false}});
    const auto mean =
        made("aten.mean.default", {{.name = "self", .value = square, .keyword = false}});
    sum = sum ? made("aten.add.Tensor", {{.name = "self", .value = *sum, .keyword = false},
                                         {.name = "other", .value = mean, .keyword = false}})
              : mean;
  }
  graph.outputs = {*sum};
}

}  // namespace sluice::train
