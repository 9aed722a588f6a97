#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/event.h"

namespace sluice {

// The most points that may wait to be tried.
constexpr std::size_t kMostEnqueued = 100'000;

// Makes whole points from parts of points. Missing values are drawn. The draws follow from the
// study's seed and the number of points enqueued before, so the same parts give the same points.
// Fails on the first point that cannot be completed. If there are several points, the message gives
// the number of that point.
Result<std::vector<Point>> FillInAll(const Space& space, const std::vector<PointPart>& partial,
                                     std::uint64_t seed, std::uint64_t enqueued_before);

// The event that enqueues these points, each a JSON object with some or all of the parameters.
Result<PointsEnqueued> MakePoints(const Study& study, const std::vector<std::string>& points);

// How many points of the event are not new: they were tried or enqueued before, or they repeat a
// point of the same event.
int CountKnown(const Study& study, const PointsEnqueued& event);

struct QueueStanding {
  int waiting = 0;  // points in the queue
  int room = 0;     // trials that the study may still make
  int total = 0;    // how many trials the study must ask for so that all waiting points are tried
};
QueueStanding QueueOf(const Study& study);

}  // namespace sluice
