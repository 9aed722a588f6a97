#include "engine/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "space/point_part.h"

namespace sluice {
namespace {

// A total order of points that compares their bits, so it works for NaN values too.
struct ByBits {
  bool operator()(const Point& a, const Point& b) const {
    return std::ranges::lexicographical_compare(
        a, b, {}, [](double value) { return std::bit_cast<std::uint64_t>(value); },
        [](double value) { return std::bit_cast<std::uint64_t>(value); });
  }
};

std::unexpected<Error> InPoint(std::size_t index, std::size_t count, Error error) {
  if (count > 1) error.message = fmt::format("point {}: {}", index + 1, error.message);
  return std::unexpected(std::move(error));
}

}  // namespace

Result<std::vector<Point>> FillInAll(const Space& space, const std::vector<PointPart>& partial,
                                     std::uint64_t seed, std::uint64_t enqueued_before) {
  const Random stream = Random(seed).Fork("enqueue");
  std::vector<Point> points;
  std::uint64_t draws_left = kMostDrawsOfAll;
  for (std::size_t i = 0; i < partial.size(); ++i) {
    auto point = FillIn(space, partial[i], stream.Fork(enqueued_before + i), draws_left);
    if (!point) return InPoint(i, partial.size(), std::move(point).error());
    points.push_back(std::move(*point));
  }
  return points;
}

Result<PointsEnqueued> MakePoints(const Study& study, const std::vector<std::string>& points) {
  const Space& space = study.spec.space;
  if (!study.spec.transfer.empty()) {
    return FailedPrecondition(
        fmt::format("study '{}' trains the best trial of study '{}', and no other point: enqueue "
                    "points in '{}'",
                    study.spec.name, study.spec.transfer, study.spec.transfer));
  }
  if (study.queue.size() + points.size() > kMostEnqueued) {
    return FailedPrecondition(
        fmt::format("expected at most {} points in the queue of '{}', found {} there and {} more",
                    kMostEnqueued, study.spec.name, study.queue.size(), points.size()));
  }
  std::vector<PointPart> partial;
  for (std::size_t i = 0; i < points.size(); ++i) {
    auto point = DecodePart(space, points[i]);
    if (!point) return InPoint(i, points.size(), std::move(point).error());
    partial.push_back(std::move(*point));
  }
  PointsEnqueued event{.study = study.id, .points = {}};
  SLUICE_ASSIGN(event.points, FillInAll(space, partial, study.seed, study.enqueued));
  return event;
}

int CountKnown(const Study& study, const PointsEnqueued& event) {
  std::set<Point, ByBits> fresh(event.points.begin(), event.points.end());
  for (const Trial& trial : study.trials) fresh.erase(trial.point);
  for (const Point& point : study.queue) fresh.erase(point);
  return static_cast<int>(event.points.size() - fresh.size());
}

QueueStanding QueueOf(const Study& study) {
  const std::size_t made = static_cast<std::size_t>(study.proposed()) +
                           static_cast<std::size_t>(study.asked - study.answered);
  return {.waiting = static_cast<int>(study.queue.size()),
          .room = study.room(),
          .total = static_cast<int>(made + study.queue.size())};
}

}  // namespace sluice
