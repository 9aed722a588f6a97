#include "sim/read/measured_workload.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice {
namespace {

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// How long a trial takes for a unit of work, measured between reports of one launch; nullopt if no
// launch has two reports.
std::optional<double> UnitSeconds(const PastTrial& trial) {
  Duration time{0};
  Work work = 0;
  for (std::size_t i = 1; i < trial.reports.size(); ++i) {
    const PastReport& before = trial.reports[i - 1];
    const PastReport& after = trial.reports[i];
    if (before.launch != after.launch || after.work <= before.work) continue;
    time += after.time - before.time;
    work += after.work - before.work;
  }
  if (work == 0 || time <= Duration(0)) return std::nullopt;
  return Seconds(time) / static_cast<double>(work);
}

void MeasureTimes(std::span<const PastTrial> trials, MeasuredWorkload& measured) {
  std::vector<double> logs, start_ups_s, whole;
  for (const PastTrial& trial : trials) {
    if (trial.work > 0 && trial.busy > Duration(0))
      whole.push_back(std::log(Seconds(trial.busy) / static_cast<double>(trial.work)));
    const auto unit_s = UnitSeconds(trial);
    if (!unit_s) continue;
    logs.push_back(std::log(*unit_s));
    // Only first launches count: it is not known from which work a later launch resumed.
    const PastReport& first = trial.reports.front();
    if (Number(trial.launch) != 1 || first.time < trial.started) continue;
    const double before_s = Seconds(first.time - trial.started);
    start_ups_s.push_back(std::max(0.0, before_s - *unit_s * static_cast<double>(first.work)));
  }
  measured.with_start_up = logs.empty();
  if (logs.empty()) logs = whole;
  if (logs.empty()) return;
  double mean = 0;
  for (const double log : logs) mean += log;
  mean /= static_cast<double>(logs.size());
  measured.seconds_per_unit = std::exp(mean);
  if (logs.size() > 1) {
    double squares = 0;
    for (const double log : logs) squares += (log - mean) * (log - mean);
    measured.spread = std::sqrt(squares / static_cast<double>(logs.size() - 1));
  }
  if (measured.with_start_up) {
    measured.start_up = Duration(0);
  } else if (!start_ups_s.empty()) {
    measured.start_up = FromSeconds(MedianOf(std::move(start_ups_s)));
  }
}

struct Sample {
  double work = 0;
  double value = 0;
};

// value = limit * (1 - g) + start * g with g = half / (half + work): the family's curve with the
// exponent 1, which is the mean exponent. For a given half, finding the best start and limits is a
// linear least-squares problem. The limits are eliminated from it first.
struct Fit {
  double half = 1;
  double start = 0;
  double squares = std::numeric_limits<double>::infinity();
  std::vector<double> limits;  // of each trial
};

Fit FitGiven(double half, const std::vector<std::vector<Sample>>& trials) {
  Fit fit{.half = half, .limits = {}};
  double across = 0, own = 0;
  for (const auto& samples : trials) {
    double ff = 0, fv = 0, fg = 0, gv = 0, gg = 0;
    for (const auto& [work, value] : samples) {
      const double g = half / (half + work);
      const double f = 1 - g;
      ff += f * f, fv += f * value, fg += f * g, gv += g * value, gg += g * g;
    }
    across += gv - fg * fv / ff;
    own += gg - fg * fg / ff;
  }
  if (own <= 1e-12) return fit;
  fit.start = across / own;
  fit.squares = 0;
  for (const auto& samples : trials) {
    double ff = 0, fr = 0;
    for (const auto& [work, value] : samples) {
      const double g = half / (half + work);
      ff += (1 - g) * (1 - g);
      fr += (1 - g) * (value - fit.start * g);
    }
    fit.limits.push_back(fr / ff);
    for (const auto& [work, value] : samples) {
      const double g = half / (half + work);
      const double off = value - fit.limits.back() * (1 - g) - fit.start * g;
      fit.squares += off * off;
    }
  }
  return fit;
}

// Tries many values of half_work, evenly spaced on a logarithmic scale, because the sum of squares
// may have several minima.
Fit BestFit(const std::vector<std::vector<Sample>>& trials, double shortest, double furthest) {
  constexpr int kSteps = 80;
  const double low = std::log(shortest / 8);
  const double high = std::log(furthest * 4);
  Fit best;
  for (int i = 0; i <= kSteps; ++i) {
    Fit fit = FitGiven(std::exp(low + (high - low) * i / kSteps), trials);
    if (fit.squares < best.squares) best = std::move(fit);
  }
  return best;
}

}  // namespace

std::optional<CurveSpec> FitCurve(std::span<const PastTrial> trials, Direction direction) {
  const double sign = direction == Direction::kMaximize ? 1 : -1;
  std::vector<std::vector<Sample>> samples;
  int telling = 0;
  double shortest = std::numeric_limits<double>::infinity();
  double furthest = 0;
  double best_seen = -std::numeric_limits<double>::infinity();  // larger is better
  std::size_t count = 0;
  for (const PastTrial& trial : trials) {
    std::vector<Sample> of_trial;
    for (const PastReport& report : trial.reports) {
      if (!std::isfinite(report.value) || report.work <= 0) continue;
      of_trial.push_back({static_cast<double>(report.work), report.value});
      best_seen = std::max(best_seen, sign * report.value);
    }
    if (of_trial.empty()) continue;
    shortest = std::min(shortest, of_trial.front().work);
    furthest = std::max(furthest, of_trial.back().work);
    count += of_trial.size();
    if (of_trial.size() >= 3) ++telling;
    samples.push_back(std::move(of_trial));
  }
  if (telling < 3) return std::nullopt;
  const Fit fit = BestFit(samples, shortest, furthest);
  if (fit.limits.empty()) return std::nullopt;

  CurveSpec curve;
  curve.start = fit.start;
  curve.half_work = fit.half;
  const double seen = best_seen - sign * fit.start;  // from start to the best value
  if (!(seen > 0)) return std::nullopt;
  // A limit beyond the best value seen is a guess: it adds at most a quarter to this distance.
  double way = seen;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].back().work >= furthest / 2)
      way = std::max(way, std::min(sign * (fit.limits[i] - fit.start), 1.25 * seen));
  }
  curve.best = fit.start + sign * way;
  std::vector<double> parts;
  for (const double limit : fit.limits)
    parts.push_back(std::clamp(sign * (limit - fit.start) / way, 0.01, 1.0));
  // LearningCurves draws a point from the whole range, and the best point from the middle 0.6 of
  // the range. The mean square distance between the two is (1 + 0.6^2) / 12.
  constexpr double kTypicalDistance = 1.36 / 12;
  curve.sharpness =
      std::clamp(-std::log(MedianOf(std::move(parts))) / kTypicalDistance, 0.0, 100.0);
  const std::size_t unknowns = samples.size() + 2;
  if (count > unknowns) {
    const double deviation = std::sqrt(fit.squares / static_cast<double>(count - unknowns));
    curve.noise = std::min(1.0, deviation / way);
  }
  return curve;
}

MeasuredWorkload MeasureWorkload(std::span<const PastTrial> trials, Direction direction) {
  MeasuredWorkload measured;
  measured.trials = static_cast<int>(trials.size());
  MeasureTimes(trials, measured);
  std::vector<double> every, lengths;
  for (const PastTrial& trial : trials) {
    if (trial.count == 0 || trial.work <= 0) continue;
    every.push_back(static_cast<double>(trial.work) / trial.count);
    if (trial.complete) lengths.push_back(static_cast<double>(trial.work));
  }
  if (!every.empty())
    measured.report_every = std::max<Work>(1, std::llround(MedianOf(std::move(every))));
  if (!lengths.empty()) measured.length = std::llround(MedianOf(std::move(lengths)));
  measured.curve = FitCurve(trials, direction);
  return measured;
}

}  // namespace sluice
