#include "search/grid.h"

#include <fmt/format.h>

namespace sluice {

Result<std::unique_ptr<Sampler>> GridSampler::Make(const Space& space) {
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.Cardinality()) continue;
    return InvalidArgument(
        fmt::format("{}: the grid sampler needs a countable parameter, found a continuous one: {}, "
                    "or use another sampler",
                    parameter.name,
                    parameter.law == Law::kLog ? "list its values as choices"
                                               : "give it a step, or list its values as choices"));
  }
  const std::optional<std::uint64_t> size = space.Cardinality();
  if (!size) {
    return InvalidArgument(
        "the grid sampler takes at most 2^53 points, found a space with more: use larger steps, "
        "fewer choices, or another sampler");
  }
  return std::unique_ptr<Sampler>(new GridSampler(space, *size));
}

std::optional<Point> GridSampler::Propose(std::uint64_t counter) {
  if (counter >= size_) return std::nullopt;
  Point point(space_.size());
  for (std::size_t i = space_.size(); i-- > 0;) {
    const std::uint64_t count = *space_.parameters()[i].Cardinality();
    point[i] = space_.Nth(i, counter % count);
    counter /= count;
  }
  return point;
}

}  // namespace sluice
