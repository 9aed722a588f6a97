#pragma once

#include <cstdint>

#include "space/point_part.h"

namespace sluice {

// How often is drawn at most to fill in all points of a file or a request.
constexpr std::uint64_t kMostDrawsOfAll = 1'000'000;

// As FillIn of point_part.h, for one of many points: takes what it draws from `draws_left`, and
// fails when nothing is left of it.
Result<Point> FillIn(const Space& space, const PointPart& partial, Random draws,
                     std::uint64_t& draws_left);

}  // namespace sluice
