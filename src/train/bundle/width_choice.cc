#include "train/bundle/width_choice.h"

#include <algorithm>

namespace sluice::train {

// From all trials down: bundles are made because stacking usually pays, so the widths that train
// the fastest come first.
std::vector<std::size_t> WidthChoice::WidthsFor(std::size_t trials) const {
  const std::size_t widest = std::min(trials, most_);
  std::vector<std::size_t> widths;
  for (std::size_t width = 1; width < widest; width *= 2) widths.push_back(width);
  widths.push_back(widest);
  std::ranges::reverse(widths);
  return widths;
}

std::size_t WidthChoice::NextToMeasure(std::size_t trials) const {
  const std::vector<std::size_t> widths = WidthsFor(trials);
  double least_s = 0;
  int slower = 0;  // widths in a row that were clearly slower than the fastest
  for (const std::size_t width : widths) {
    const auto found = times_.find(width);
    if (found == times_.end() || found->second.steps < kUncountedSteps + kCountedSteps)
      return width;
    const double seconds = found->second.least_s;
    slower = least_s > 0 && seconds > least_s * kClearlySlower ? slower + 1 : 0;
    if (slower == 2) return 0;
    least_s = least_s > 0 ? std::min(least_s, seconds) : seconds;
  }
  return 0;
}

std::size_t WidthChoice::WidthFor(std::size_t trials) const {
  if (trials <= 1) return 1;
  if (const std::size_t next = NextToMeasure(trials); next > 0) return next;
  std::size_t best = std::min(trials, most_);
  double least_s = 0;
  for (const std::size_t width : WidthsFor(trials)) {
    const auto found = times_.find(width);
    if (found == times_.end()) continue;
    if (least_s == 0 || found->second.least_s < least_s) {
      best = width;
      least_s = found->second.least_s;
    }
  }
  return best;
}

bool WidthChoice::IsMeasuring(std::size_t trials) const {
  return trials > 1 && NextToMeasure(trials) > 0;
}

void WidthChoice::Measured(std::size_t trials, double seconds) {
  if (!IsMeasuring(trials)) return;
  Times& times = times_[WidthFor(trials)];
  ++times.steps;
  if (times.steps <= kUncountedSteps) return;
  const double of_one = seconds / static_cast<double>(trials);
  times.least_s = times.steps == kUncountedSteps + 1 ? of_one : std::min(times.least_s, of_one);
}

}  // namespace sluice::train
