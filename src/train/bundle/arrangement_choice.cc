#include "train/bundle/arrangement_choice.h"

#include <algorithm>
#include <utility>

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
  if (found == times_.end() || found->second.medians.empty()) return 0;
  return std::ranges::min(found->second.medians) *
         static_cast<double>(MostOfAWorker(arrangement, trials));
}

std::size_t ArrangementChoice::TimesMeasured(const Arrangement& arrangement) const {
  const auto found = times_.find(arrangement);
  return found == times_.end() ? 0 : found->second.medians.size();
}

Arrangement ArrangementChoice::NextToMeasure(std::size_t trials) const {
  const std::vector<Widths> all = AllFor(trials);
  double fastest_s = 0;
  for (const Widths& widths : all) {
    double least_s = 0;
    int slower = 0;  // widths in a row that were clearly slower than the fastest of these
    for (const Arrangement& each : widths) {
      if (slower == 2) break;
      if (TimesMeasured(each) == 0) return each;
      const double seconds = SecondsOf(each, trials);
      slower = least_s > 0 && seconds > least_s * kClearlySlower ? slower + 1 : 0;
      least_s = least_s > 0 ? std::min(least_s, seconds) : seconds;
    }
    fastest_s = fastest_s > 0 ? std::min(fastest_s, least_s) : least_s;
  }
  Arrangement next{.width = 0};
  std::size_t least_times = kTimesIfClose;
  int close = 0;
  for (const Widths& widths : all) {
    for (const Arrangement& each : widths) {
      const double seconds = SecondsOf(each, trials);
      if (seconds == 0 || seconds > fastest_s * kClose) continue;
      ++close;
      if (TimesMeasured(each) >= least_times) continue;
      least_times = TimesMeasured(each);
      next = each;
    }
  }
  return close > 1 ? next : Arrangement{.width = 0};
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
  if (times.uncounted < kUncountedSteps) {
    ++times.uncounted;
    return;
  }
  times.counted_s += seconds;
  times.of_trial_s.push_back(seconds / static_cast<double>(MostOfAWorker(arrangement, trials)));
  if (static_cast<int>(times.of_trial_s.size()) < kCountedSteps ||
      times.counted_s < kCountedSeconds)
    return;
  const auto middle =
      times.of_trial_s.begin() + static_cast<std::ptrdiff_t>(times.of_trial_s.size() / 2);
  std::ranges::nth_element(times.of_trial_s, middle);
  std::vector<double> medians = std::move(times.medians);
  medians.push_back(*middle);
  times = {.medians = std::move(medians)};
}

}  // namespace sluice::train
