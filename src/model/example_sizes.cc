#include "model/example_sizes.h"

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

}  // namespace sluice::model
