#include "space/draw.h"

#include <algorithm>
#include <vector>

#include "space/cost.h"
#include "space/enumeration.h"

namespace sluice {

std::optional<Point> DrawPoint(const Space& space, Random& random) {
  constexpr std::uint64_t kMostDraws = 1'000'000;
  constexpr std::uint64_t kMostWork = 60'000'000;  // cost of all draws (cost.h)
  const std::uint64_t draws =
      std::clamp<std::uint64_t>(kMostWork / CostOfPoint(space), 1, kMostDraws);
  std::vector<double> unit(space.size());
  for (std::uint64_t i = 0; i < draws; ++i) {
    for (double& coordinate : unit) coordinate = random.Uniform();
    Point point = space.FromUnit(unit);
    if (space.Satisfies(point)) return point;
  }
  const std::optional<std::uint64_t> count = CountPoints(space);
  if (!count || *count == 0) return std::nullopt;
  PointEnumerator points(space);
  for (std::uint64_t left = random.Below(*count) + 1; left > 0; --left) points.Next();
  return points.point();
}

}  // namespace sluice
