#include "space/draw.h"

#include <vector>

#include "space/enumeration.h"

namespace sluice {

std::optional<Point> DrawPoint(const Space& space, Random& random) {
  constexpr int kMostDraws = 1'000'000;
  std::vector<double> unit(space.size());
  for (int i = 0; i < kMostDraws; ++i) {
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
