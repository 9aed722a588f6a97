#include "search/samplers/grid.h"

#include <fmt/format.h>

namespace sluice {

Result<std::unique_ptr<GridSampler>> GridSampler::Make(const Space& space) {
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.Cardinality()) continue;
    return InvalidArgument(
        fmt::format("{}: the grid sampler needs a countable parameter, found a continuous one: "
                    "give it a step, or list its values as choices, or use another sampler",
                    parameter.name));
  }
  const std::optional<std::uint64_t> size = space.Cardinality();
  if (!size && !space.is_plain()) {
    return InvalidArgument(
        "the grid sampler goes through a space with conditions or constraints point by point, "
        "found "
        "one with too many points for that (some million): use larger steps, fewer choices, or "
        "another sampler");
  }
  if (!size) {
    return InvalidArgument(
        "the grid sampler takes at most 2^53 points, found a space with more: use larger steps, "
        "fewer choices, or another sampler");
  }
  return std::unique_ptr<GridSampler>(new GridSampler(space, *size));
}

std::optional<Point> GridSampler::Propose(std::uint64_t counter) {
  if (counter >= size_) return std::nullopt;
  if (!space_.is_plain()) return Enumerated(counter);
  Point point(space_.size());
  for (std::size_t i = space_.size(); i-- > 0;) {
    const std::uint64_t count = *space_.parameters()[i].Cardinality();
    point[i] = space_.Nth(i, counter % count);
    counter /= count;
  }
  return point;
}

std::optional<Point> GridSampler::Enumerated(std::uint64_t counter) {
  if (!points_ || counter + 1 < next_) {
    points_.emplace(space_);
    next_ = 0;
  }
  for (; next_ <= counter; ++next_) points_->Next();
  return points_->point();
}

}  // namespace sluice
