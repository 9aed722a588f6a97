#include "model/example_sizes.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <vector>

#include "base/text.h"

namespace sluice::model {
namespace {

// All sizes but the first, which is the batch.
std::span<const Size> WithoutBatch(const Graph& graph) {
  if (graph.inputs.empty()) return {};
  const std::vector<Size>& sizes = graph.value(graph.inputs.front()).sizes;
  return sizes.empty() ? std::span<const Size>() : std::span(sizes).subspan(1);
}

bool IsWholeNumber(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kBool: return true;
    default: return false;
  }
}

bool Fits(const Size& size, std::int64_t number) {
  return !size.symbol.empty() || size.number < 0 || size.number == number;
}

}  // namespace

Takes HowItTakes(const Graph& graph, std::span<const std::int64_t> example) {
  const std::span<const Size> taken = WithoutBatch(graph);
  bool fits = taken.size() == example.size();
  for (std::size_t i = 0; fits && i < taken.size(); ++i) fits = Fits(taken[i], example[i]);
  if (fits) return Takes::kAsItIs;
  const std::int64_t elements =
      std::accumulate(example.begin(), example.end(), std::int64_t{1}, std::multiplies());
  const bool vector = taken.size() == 1 && taken[0].symbol.empty() && taken[0].number == elements;
  return vector && example.size() > 1 ? Takes::kFlattened : Takes::kNot;
}

std::string SizesItTakes(const Graph& graph) {
  std::vector<std::string> sizes;
  for (const Size& size : WithoutBatch(graph)) sizes.push_back(SizeText(size));
  return Join(sizes);
}

Status CheckElements(const Graph& graph, std::string_view network, const ExampleElements& given) {
  if (graph.inputs.empty()) return {};
  const DType taken = graph.value(graph.inputs.front()).dtype;
  if (IsWholeNumber(taken) == given.whole) return {};
  if (given.whole) {
    return InvalidArgument(fmt::format(
        "data: expected floating-point inputs, as the network {} takes them, found {}: save them "
        "with astype('float32'), or take a network that begins with an embedding",
        network, given.type));
  }
  return InvalidArgument(fmt::format(
      "data: expected whole numbers as inputs, as the network {} takes {}, found {}, which a "
      "network is given as floating-point numbers: save them with astype('int64')",
      network, Name(taken), given.type));
}

std::optional<std::int64_t> FixedBatch(const Graph& graph) {
  if (graph.inputs.empty()) return std::nullopt;
  const std::vector<Size>& sizes = graph.value(graph.inputs.front()).sizes;
  if (sizes.empty() || !sizes.front().symbol.empty() || sizes.front().number < 0)
    return std::nullopt;
  return sizes.front().number;
}

Status CheckBatching(std::int64_t fixed_batch, std::string_view network, const Batching& given) {
  const std::string why = fmt::format(
      "the network {} was exported with a batch of {} (dynamic_batch=False)", network, fixed_batch);
  if (given.batch != fixed_batch)
    return InvalidArgument(
        fmt::format("train.batch: expected {}, as {}, found {}", fixed_batch, why, given.batch));
  const auto too_few = [&](std::string_view purpose, std::int64_t found) {
    return InvalidArgument(fmt::format("data: expected at least {} examples {}, as {}, found {}",
                                       fixed_batch, purpose, why, found));
  };
  if (given.training_examples < fixed_batch) return too_few("to train on", given.training_examples);
  if (given.evaluation_examples > 0 && given.evaluation_examples < fixed_batch)
    return too_few("to evaluate on", given.evaluation_examples);
  return {};
}

}  // namespace sluice::model
