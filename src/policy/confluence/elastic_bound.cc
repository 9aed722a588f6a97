#include "policy/confluence/elastic_bound.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

// A trial of width w has the speed S(w). The widths w(1), ..., w(j) of j trials on n devices sum to
// at most n. No width is above n, or above the most width m of a trial. Let E be the least concave
// curve that is nowhere below S between 0 and min(m, n): the upper hull of (0, 0) and the table's
// points. Then
//
//   max of the sum of S(w(i)) <= max of the sum of E(w(i)) = j E(min(n / j, m)) = R(j),
//
// because E is concave (equal widths are best) and rises. The same sum results if the devices are
// given away piece by piece, each piece to the trial that it helps most.
//
// Where n / j lies between two corners of E, there may be no single width with the speed E(n / j).
// But trials that alternate between the widths of the two corners have that speed on average. So
// R(j) can be reached over time. R(j) never falls as j grows: an additional trial may have the
// width 0.
//
// The bound: whatever else runs, the j longest trials never have more than the speed R(j) together.
// So the makespan T >= (sum of their seconds alone) / R(j), for every j. With j = 1 the bound is
// the time of the longest trial at its widest. With j = k, the number of trials, it is the time of
// all trials on all devices. The values of j between these matter if a few long trials cannot use
// all the devices once the short trials have ended. Cost: a sort.

namespace sluice {
namespace {

// The curve E, stored as its corners in the order of rising x. The first corner is at 0.
class Envelope {
 public:
  Envelope(const SpeedTable& widths, double widest) {
    Add({0, 0});
    for (const SpeedTable::Knot& knot : widths.knots())
      if (knot.x < widest) Add(knot);
    if (widest > 0) Add({widest, widths.At(widest)});
  }

  double At(double x) const {
    const auto right = std::ranges::lower_bound(corners_, x, {}, &SpeedTable::Knot::x);
    if (right == corners_.end()) return corners_.back().speed_up;
    if (right == corners_.begin()) return 0;
    const auto left = right - 1;
    return left->speed_up +
           (right->speed_up - left->speed_up) * (x - left->x) / (right->x - left->x);
  }

 private:
  void Add(const SpeedTable::Knot& next) {
    while (corners_.size() > 1) {
      const SpeedTable::Knot& before = corners_[corners_.size() - 2];
      const SpeedTable::Knot& last = corners_.back();
      const bool is_corner = (last.speed_up - before.speed_up) * (next.x - before.x) >
                             (next.speed_up - before.speed_up) * (last.x - before.x);
      if (is_corner) break;
      corners_.pop_back();
    }
    corners_.push_back(next);
  }

  std::vector<SpeedTable::Knot> corners_;
};

double MostSpeed(const Envelope& envelope, const ElasticRoom& room, std::size_t trials) {
  const double each = std::max(room.devices, 0.0) / static_cast<double>(trials);
  return static_cast<double>(trials) * envelope.At(each);
}

Envelope EnvelopeOf(const SpeedTable& widths, const ElasticRoom& room) {
  return {widths, std::min(room.most_width, room.devices)};
}

}  // namespace

double MostSpeed(const SpeedTable& widths, const ElasticRoom& room, std::size_t trials) {
  return trials > 0 ? MostSpeed(EnvelopeOf(widths, room), room, trials) : 0;
}

double ElasticBound(std::span<const double> seconds_alone, const SpeedTable& widths,
                    const ElasticRoom& room) {
  std::vector<double> longest_s(seconds_alone.begin(), seconds_alone.end());
  std::ranges::sort(longest_s, std::greater());
  const Envelope envelope = EnvelopeOf(widths, room);
  double bound_s = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < longest_s.size() && longest_s[i] > 0; ++i) {
    seconds += longest_s[i];
    const double speed = MostSpeed(envelope, room, i + 1);
    if (speed <= 0) return std::numeric_limits<double>::infinity();
    bound_s = std::max(bound_s, seconds / speed);
  }
  return bound_s;
}

}  // namespace sluice
