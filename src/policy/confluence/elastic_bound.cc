#include "policy/confluence/elastic_bound.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

// A trial of width w has the speed S(w), and j trials have the widths w(1) + ... + w(j) <= n, none above the
// most width m or above n. Let E be the least concave curve that is nowhere below S between 0 and min(m, n):
// the upper hull of (0, 0) and the table's points. Then
//
//   R(j) = max of the sum of S(w(i)) <= max of the sum of E(w(i)) = j E(min(n / j, m)),
//
// because E is concave (equal widths are best) and rises. Giving devices away one piece after the other, each
// where it helps most, comes to the same. Where n / j lies between two corners of E, no single width may have the
// speed E; trials that change between the two corners' widths have it on average, so that R(j) is what can be
// had over time. It never falls with j: a trial more may have the width 0.
//
// The bound: the j longest trials, of all times the only ones that count, never have more than R(j) together.
// So T >= (sum of their seconds alone) / R(j), for each j. With j = 1 that is the longest trial at its widest,
// with j = k all trials on all devices; those between them see that a few long trials cannot use devices that
// the many short ones leave. Costs a sort.

namespace sluice {
namespace {

// E. Corners with rising x, the first at 0.
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
  std::vector<double> longest(seconds_alone.begin(), seconds_alone.end());
  std::ranges::sort(longest, std::greater());
  const Envelope envelope = EnvelopeOf(widths, room);
  double bound = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < longest.size() && longest[i] > 0; ++i) {
    seconds += longest[i];
    const double speed = MostSpeed(envelope, room, i + 1);
    if (speed <= 0) return std::numeric_limits<double>::infinity();
    bound = std::max(bound, seconds / speed);
  }
  return bound;
}

}  // namespace sluice
