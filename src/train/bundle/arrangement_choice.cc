#include "train/bundle/arrangement_choice.h"

#include <algorithm>

namespace sluice::train {
namespace {

std::size_t CeilOf(std::size_t dividend, std::size_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

// How many trials the busiest worker trains in a step. What was measured with some trials is by
// this what it is with others: three trials on two cores take as long as four.
std::size_t MostOfAWorker(const Arrangement& arrangement, std::size_t trials) {
  const std::size_t stacks = CeilOf(trials, arrangement.width);
  return std::min(trials, CeilOf(stacks, arrangement.workers) * arrangement.width);
}

}  // namespace

// From all trials down: bundles are made because stacking usually pays, so the arrangements that
// train the fastest come first.
std::vector<ArrangementChoice::Widths> ArrangementChoice::AllFor(std::size_t trials) const {
  const auto widths = [&](std::size_t workers) {
    const std::size_t widest = std::min(CeilOf(trials, workers), most_);
    Widths all;
    for (std::size_t width = 1; width < widest; width *= 2) all.push_back({width, workers});
    all.push_back({widest, workers});
    std::ranges::reverse(all);
    return all;
  };
  std::vector<Widths> all{widths(1)};
  if (const std::size_t workers = std::min(cores_, trials); workers > 1)
    all.push_back(widths(workers));
  return all;
}

double ArrangementChoice::SecondsOf(const Arrangement& arrangement, std::size_t trials) const {
  const auto found = times_.find(arrangement);
  if (found == times_.end()) return 0;
  return found->second.least_s * static_cast<double>(MostOfAWorker(arrangement, trials));
}

bool ArrangementChoice::IsMeasured(const Arrangement& arrangement) const {
  const auto found = times_.find(arrangement);
  return found != times_.end() && found->second.steps >= kUncountedSteps + kCountedSteps;
}

Arrangement ArrangementChoice::NextToMeasure(std::size_t trials) const {
  double least_s = 0;
  for (const Widths& widths : AllFor(trials)) {
    int slower = 0;  // widths in a row that were clearly slower than the fastest
    for (const Arrangement& each : widths) {
      if (slower == 2) break;
      if (!IsMeasured(each)) return each;
      const double seconds = SecondsOf(each, trials);
      slower = least_s > 0 && seconds > least_s * kClearlySlower ? slower + 1 : 0;
      least_s = least_s > 0 ? std::min(least_s, seconds) : seconds;
    }
  }
  return {.width = 0};
}

Arrangement ArrangementChoice::For(std::size_t trials) const {
  if (trials <= 1) return {};
  if (const Arrangement next = NextToMeasure(trials); next.width > 0) return next;
  Arrangement best;
  double least_s = 0;
  for (const Widths& widths : AllFor(trials)) {
    for (const Arrangement& each : widths) {
      const double seconds = SecondsOf(each, trials);
      if (seconds == 0 || (least_s > 0 && seconds >= least_s)) continue;
      best = each;
      least_s = seconds;
    }
  }
  return best;
}

bool ArrangementChoice::IsMeasuring(std::size_t trials) const {
  return trials > 1 && NextToMeasure(trials).width > 0;
}

void ArrangementChoice::Measured(std::size_t trials, double seconds) {
  if (!IsMeasuring(trials)) return;
  const Arrangement arrangement = For(trials);
  Times& times = times_[arrangement];
  ++times.steps;
  if (times.steps <= kUncountedSteps) return;
  const double of_one = seconds / static_cast<double>(MostOfAWorker(arrangement, trials));
  times.least_s = times.steps == kUncountedSteps + 1 ? of_one : std::min(times.least_s, of_one);
}

}  // namespace sluice::train
