#include "search/curves/curve_forecaster.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sluice {
namespace {

using Bin = CurveSketch::Bin;

// Exponents are multiples of 1/4, so that products of (1 + work/scale)^-1/4 replace pow. Half of
// the drop is done at a work of about 2^-shift times the scale.
struct Exponent {
  double value;
  double prior;
  int shift;  // steps of the grid (octaves, mostly) from the half-work to the scale
};
constexpr std::array<Exponent, 5> kGrid = {{
    {.value = 0.5, .prior = 0.15, .shift = -2},
    {.value = 0.75, .prior = 0.25, .shift = -1},
    {.value = 1, .prior = 0.3, .shift = 0},
    {.value = 1.5, .prior = 0.2, .shift = 1},
    {.value = 3, .prior = 0.1, .shift = 2},
}};
constexpr int kMostShift = 2;
constexpr std::size_t kShifts = 2 * kMostShift + 1;

// In units of the study's range:
constexpr double kWild = 10;          // a report this far outside may be ignored
constexpr double kFarthest = 1e6;     // losses farther out are cut off here
constexpr double kUsualNoise = 0.01;  // of a report
constexpr double kLeastNoise = 1e-4;  // no report is exact
constexpr double kUsualStart = 0.2;   // spread of losses before any work
constexpr double kLeastStart = 0.005;
constexpr double kUsualLimit = 0.7;  // spread of limits
constexpr double kLeastLimit = 0.02;
constexpr double kMeanLimit = -0.3;   // most trials have not reached their limits yet
constexpr double kModelError = 0.01;  // of a limit, since no curve is exactly a power law
// Error of a limit, as a part of the remaining drop. The grid of shapes is coarse, and a curve with
// few bins is fitted by many shapes.
constexpr double kWayError = 0.05;
constexpr double kWayErrorOfOneBin = 0.5;
// The number of bins assumed for a trial that has not begun: the study's other trials tell as much
// about it as this many bins of its own.
constexpr int kBinsOfAStudy = 5;

// The most that a bin weighs, in reports: neighbouring reports share the error of the model.
constexpr double kBinWeight = 8;
// The usual spreads and the grid's own probabilities weigh as much as this many trials.
constexpr double kPriorTrials = 2;
constexpr double kPriorOfMeans = 0.1;  // likewise, for the usual means
// The prior noise weighs as much as this many bins. It is the usual noise for a study, and the
// study's noise for a trial.
constexpr double kPriorBins = 4;
// The first kFirstSteps steps use at most kFirstTrials of the trials. After them, kLastSteps steps
// over all trials are enough.
constexpr int kFirstSteps = 3;
constexpr std::size_t kFirstTrials = 40;
constexpr int kLastSteps = 2;

double Square(double value) { return value * value; }

double WeightOfBin(const Bin& bin) { return bin.count * kBinWeight / (bin.count + kBinWeight); }

// The range of a curve's bins. With more than two bins the lowest and the highest are left out,
// since they may be wild.
struct Range {
  double low;
  double high;
};
Range RangeOf(std::span<const Bin> bins) {
  double low[2] = {bins[0].loss, bins[0].loss};
  double high[2] = {bins[0].loss, bins[0].loss};
  if (bins.size() > 1) {
    low[1] = high[0] = std::max(bins[0].loss, bins[1].loss);
    low[0] = high[1] = std::min(bins[0].loss, bins[1].loss);
  }
  for (const Bin& bin : bins.subspan(std::min<std::size_t>(2, bins.size()))) {
    low[1] = std::clamp(bin.loss, low[0], low[1]);
    low[0] = std::min(bin.loss, low[0]);
    high[1] = std::clamp(bin.loss, high[1], high[0]);
    high[0] = std::max(bin.loss, high[0]);
  }
  const std::size_t which = bins.size() > 2 ? 1 : 0;
  return {.low = low[which], .high = high[which]};
}

}  // namespace

CurveForecaster::CurveForecaster(std::span<const CurveSketch* const> sketches) {
  static_assert(kGrid.size() == kExponents);
  SetUnit(sketches);
  if (!known_) return;
  SetGrid(sketches);
  std::vector<Moments> trials;
  trials.reserve(sketches.size());
  ShapesAt shapes_at;
  for (const CurveSketch* sketch : sketches) {
    if (HasDiverged(*sketch)) continue;
    Gather(*sketch, shapes_at, trials.emplace_back());
    if (trials.back().bins == 0) trials.pop_back();
  }
  Learn(trials);
}

// The range is made of quartiles over trials, so that neither a wild curve nor many good curves
// determine it.
void CurveForecaster::SetUnit(std::span<const CurveSketch* const> sketches) {
  std::vector<double> lows, highs;
  double least = 0, most = 0;
  for (const CurveSketch* sketch : sketches) {
    if (sketch->diverged() || sketch->bins().empty()) continue;
    const Range range = RangeOf(sketch->bins());
    least = lows.empty() ? range.low : std::min(least, range.low);
    most = highs.empty() ? range.high : std::max(most, range.high);
    lows.push_back(range.low);
    highs.push_back(range.high);
  }
  if (lows.empty()) return;
  const std::size_t quarter = (lows.size() - 1) / 4;
  const std::size_t last = lows.size() - 1;
  std::ranges::nth_element(lows, lows.begin() + static_cast<std::ptrdiff_t>(quarter));
  std::ranges::nth_element(highs, highs.begin() + static_cast<std::ptrdiff_t>(last - quarter));
  zero_ = lows[quarter];
  unit_ = highs[last - quarter] - zero_;
  if (!(unit_ > 0)) {
    zero_ = least;
    unit_ = most - least;
  }
  known_ = unit_ > 0;
  if (!known_) return;
  worst_ = zero_;
  for (const CurveSketch* sketch : sketches) {
    for (const Bin& bin : sketch->bins()) {
      if (bin.loss <= zero_ + (1 + kWild) * unit_) worst_ = std::max(worst_, bin.loss);
    }
  }
}

void CurveForecaster::SetGrid(std::span<const CurveSketch* const> sketches) {
  double least = 0x1p63;
  most_work_ = 1;
  for (const CurveSketch* sketch : sketches) {
    if (sketch->diverged()) continue;
    for (const Bin& bin : sketch->bins()) {
      if (bin.work <= 0) continue;
      least = std::min(least, bin.work);
      break;
    }
    most_work_ = std::max(most_work_, static_cast<double>(sketch->done()));
  }
  least = std::min(least, most_work_);
  first_octave_ = std::ilogb(least) - 1;
  const int span = std::ilogb(most_work_) + 3 - first_octave_;
  octaves_ = span / static_cast<int>(kMostHalves) + 1;
  halves_ = static_cast<std::size_t>(span / octaves_) + 1;
  cells_ = kExponents * halves_;
  for (std::size_t e = 0; e < kExponents; ++e) {
    for (std::size_t i = 0; i < halves_; ++i)
      prior_[e * halves_ + i] = kGrid[e].prior / static_cast<double>(halves_);
  }
}

double CurveForecaster::Scale(std::size_t exponent, std::size_t half) const {
  return std::exp2(first_octave_ + octaves_ * (static_cast<int>(half) + kGrid[exponent].shift));
}

void CurveForecaster::Shapes(double work, PerCell& shapes) const {
  // (1 + work/scale)^-1/4 for all scales of the grid.
  std::array<double, kMostHalves + kShifts - 1> roots;
  const std::size_t scales = halves_ + kShifts - 1;
  const double step = std::exp2(-octaves_);
  double ratio = work * std::exp2(octaves_ * kMostShift - first_octave_);
  for (std::size_t i = 0; i < scales; ++i, ratio *= step) roots[i] = 1 + ratio;
  for (std::size_t i = 0; i < scales; ++i) roots[i] = 1 / std::sqrt(std::sqrt(roots[i]));
  double* out = shapes.data();
  const auto fill = [&](std::size_t exponent, auto power) {
    const double* const from = roots.data() + (kGrid[exponent].shift + kMostShift);
    for (std::size_t i = 0; i < halves_; ++i) out[i] = power(from[i] * from[i], from[i]);
    out += halves_;
  };
  fill(0, [](double square, double) { return square; });
  fill(1, [](double square, double root) { return square * root; });
  fill(2, [](double square, double) { return square * square; });
  fill(3, [](double square, double) { return square * square * square; });
  fill(4, [](double square, double) { return Square(square * square * square); });
}

// A lone bin far outside the study's range and far from its neighbours.
bool CurveForecaster::IsWild(std::span<const Bin> bins, std::size_t index) const {
  const double loss = bins[index].loss;
  if (std::abs(loss - zero_ - unit_ / 2) <= (0.5 + kWild) * unit_) return false;
  const auto is_near = [&](const Bin& bin) { return std::abs(bin.loss - loss) <= kWild * unit_; };
  return !(index > 0 && is_near(bins[index - 1])) &&
         !(index + 1 < bins.size() && is_near(bins[index + 1]));
}

bool CurveForecaster::HasDiverged(const CurveSketch& sketch) const {
  if (sketch.diverged()) return true;
  const auto bins = sketch.bins();
  return bins.size() >= 2 && std::ranges::all_of(bins.last(2), [&](const Bin& bin) {
           return bin.loss > zero_ + (1 + kWild) * unit_;
         });
}

void CurveForecaster::Gather(const CurveSketch& sketch, ShapesAt& shapes_at,
                             Moments& moments) const {
  moments.count = moments.y = moments.yy = 0;
  moments.bins = 0;
  std::fill_n(moments.x.begin(), cells_, 0);
  std::fill_n(moments.xx.begin(), cells_, 0);
  std::fill_n(moments.xy.begin(), cells_, 0);
  const auto bins = sketch.bins();
  for (std::size_t b = 0; b < bins.size(); ++b) {
    if (IsWild(bins, b)) continue;
    const double weight = WeightOfBin(bins[b]);
    const double y = std::clamp((bins[b].loss - zero_) / unit_, -kFarthest, kFarthest);
    ++moments.bins;
    moments.count += weight;
    moments.y += weight * y;
    moments.yy += weight * y * y;
    auto& [work, shapes] = shapes_at[b];
    if (work != bins[b].work) {
      work = bins[b].work;
      Shapes(work, shapes);
    }
    for (std::size_t i = 0; i < cells_; ++i) {
      const double part = weight * shapes[i];
      moments.x[i] += part;
      moments.xx[i] += part * shapes[i];
      moments.xy[i] += part * y;
    }
  }
}

// Each cell gives two linear equations for start and limit. A cell's weight is how well it explains
// the curve, with start and limit integrated out.
void CurveForecaster::Believe(const Moments& moments, double noise, Belief& belief) const {
  const double precision = 1 / noise;
  const double start_precision = 1 / start_.variance;
  const double limit_precision = 1 / limit_.variance;
  const double start_pull = start_.mean * start_precision;
  const double limit_pull = limit_.mean * limit_precision;
  PerCell fit, start_variance, limit_variance, covariance, determinant;
  for (std::size_t i = 0; i < cells_; ++i) {
    const double xx = moments.xx[i];
    const double xz = moments.x[i] - xx;
    const double zz = moments.count - moments.x[i] - xz;
    const double a = precision * xx + start_precision;
    const double b = precision * xz;
    const double c = precision * zz + limit_precision;
    const double u = precision * moments.xy[i] + start_pull;
    const double v = precision * (moments.y - moments.xy[i]) + limit_pull;
    determinant[i] = a * c - b * b;
    const double inverse = 1 / determinant[i];
    start_variance[i] = c * inverse;
    limit_variance[i] = a * inverse;
    covariance[i] = -b * inverse;
    belief.drop_variance[i] = (a + 2 * b + c) * inverse;
    belief.start[i] = (c * u - b * v) * inverse;
    belief.limit[i] = (a * v - b * u) * inverse;
    fit[i] = 0.5 * (u * belief.start[i] + v * belief.limit[i]);
  }
  double best = fit[0];
  for (std::size_t i = 1; i < cells_; ++i) best = std::max(best, fit[i]);
  double total = 0;
  for (std::size_t i = 0; i < cells_; ++i) {
    const double behind = best - fit[i];
    belief.weight[i] = behind > 30 ? 0 : prior_[i] * std::exp(-behind) / std::sqrt(determinant[i]);
    total += belief.weight[i];
  }
  double start = 0, limit = 0, start_square = 0, limit_square = 0, residual = 0;
  for (std::size_t i = 0; i < cells_; ++i) {
    const double weight = belief.weight[i] / total;
    belief.weight[i] = weight;
    if (weight < 1e-9) continue;
    const double s = belief.start[i];
    const double l = belief.limit[i];
    const double ss = s * s + start_variance[i];
    const double ll = l * l + limit_variance[i];
    const double sl = s * l + covariance[i];
    start += weight * s;
    limit += weight * l;
    start_square += weight * ss;
    limit_square += weight * ll;
    const double xx = moments.xx[i];
    const double xz = moments.x[i] - xx;
    const double zz = moments.count - moments.x[i] - xz;
    residual += weight * (moments.yy - 2 * (s * moments.xy[i] + l * (moments.y - moments.xy[i])) +
                          ss * xx + 2 * sl * xz + ll * zz);
  }
  belief.start_mean = start;
  belief.limit_mean = limit;
  belief.start_variance = std::max(start_square - start * start, 0.0);
  belief.limit_variance = std::max(limit_square - limit * limit, 0.0);
  belief.residual = std::max(residual, 0.0);
}

namespace {

// A step for one of the study's normal laws, from what is believed of each trial. A trial about
// which little is known mostly gives back the law as it was, so plain steps would be small and
// many. Therefore the step is divided by the information that the trials add, not by their number.
class NormalStep {
 public:
  struct Usual {
    double mean;
    double spread;
    double least_spread;
  };

  NormalStep(double mean, double variance) : mean_(mean), variance_(variance) {}

  void Add(double mean, double variance) {
    const double explained = std::max(1 - variance / variance_, 0.0);
    explained_ += explained;
    explained_squared_ += explained * explained;
    // One trial far from all others must not make all trials look scattered.
    const double far = 3 * std::sqrt(variance_);
    const double off = std::clamp(mean - mean_, -far, far);
    off_ += off;
    scatter_ += variance + off * off - variance_;
  }

  double Mean(const Usual& usual) const {
    return mean_ + (off_ + kPriorOfMeans * (usual.mean - mean_)) / (explained_ + kPriorOfMeans);
  }
  double Variance(const Usual& usual) const {
    const double next = variance_ + (scatter_ + kPriorTrials * (Square(usual.spread) - variance_)) /
                                        (explained_squared_ + kPriorTrials);
    return std::max(std::clamp(next, variance_ / 16, variance_ * 16), Square(usual.least_spread));
  }

 private:
  double mean_;
  double variance_;
  double explained_ = 0;
  double explained_squared_ = 0;
  double off_ = 0;
  double scatter_ = 0;
};

}  // namespace

void CurveForecaster::Learn(const std::vector<Moments>& trials) {
  start_ = {.mean = 1, .variance = 0.25};
  limit_ = {.mean = kMeanLimit, .variance = 1};
  noise_ = Square(kUsualNoise);
  const std::size_t stride = trials.size() / kFirstTrials + 1;
  for (int step = 0; step < kFirstSteps; ++step) Step(trials, stride);
  for (int step = 0; step < kLastSteps; ++step) Step(trials, 1);
}

void CurveForecaster::Step(const std::vector<Moments>& trials, std::size_t stride) {
  NormalStep starts(start_.mean, start_.variance);
  NormalStep limits(limit_.mean, limit_.variance);
  PerCell seen{};
  double residual = 0;
  double bins = 0;
  Belief belief;
  for (std::size_t t = 0; t < trials.size(); t += stride) {
    const Moments& trial = trials[t];
    Believe(trial, noise_, belief);
    starts.Add(belief.start_mean, belief.start_variance);
    limits.Add(belief.limit_mean, belief.limit_variance);
    residual += std::min(belief.residual, 10 * trial.bins * noise_);
    bins += trial.bins;
    for (std::size_t i = 0; i < cells_; ++i) seen[i] += belief.weight[i];
  }
  constexpr NormalStep::Usual kStarts{
      .mean = 1, .spread = kUsualStart, .least_spread = kLeastStart};
  constexpr NormalStep::Usual kLimits{
      .mean = kMeanLimit, .spread = kUsualLimit, .least_spread = kLeastLimit};
  start_ = {.mean = starts.Mean(kStarts), .variance = starts.Variance(kStarts)};
  limit_ = {.mean = limits.Mean(kLimits), .variance = limits.Variance(kLimits)};
  noise_ = (residual + kPriorBins * Square(kUsualNoise)) / (bins + kPriorBins);
  noise_ = std::max(noise_, Square(kLeastNoise));
  LearnCells(seen);
}

// Exponents and half-works are learned independently, because there are few trials and many cells.
// For the same reason half-works are smoothed over neighbours.
void CurveForecaster::LearnCells(const PerCell& seen) {
  std::array<double, kExponents> of_exponent{};
  std::array<double, kMostHalves> of_half{};
  double all = kPriorTrials;
  for (std::size_t e = 0; e < kExponents; ++e) {
    for (std::size_t i = 0; i < halves_; ++i) {
      const double weight = seen[e * halves_ + i];
      all += weight;
      of_exponent[e] += weight;
      of_half[i] += weight / 2;
      of_half[i > 0 ? i - 1 : i] += weight / 4;
      of_half[i + 1 < halves_ ? i + 1 : i] += weight / 4;
    }
  }
  for (std::size_t e = 0; e < kExponents; ++e) {
    for (std::size_t i = 0; i < halves_; ++i)
      prior_[e * halves_ + i] = (of_exponent[e] + kPriorTrials * kGrid[e].prior) / all *
                                (of_half[i] + kPriorTrials / static_cast<double>(halves_)) / all;
  }
}

Forecast CurveForecaster::Of(const CurveSketch& sketch) const {
  if (!known_) return {};
  const auto done = static_cast<double>(sketch.done());
  if (HasDiverged(sketch))
    return {.known = true, .limit = worst_, .done = done, .spread = kModelError * unit_};
  Moments moments;
  ShapesAt shapes_at;
  Gather(sketch, shapes_at, moments);
  Belief belief;
  Believe(moments, noise_, belief);
  if (moments.bins > 0) {
    // A trial that no power law fits is noisier than others, and its end is less certain.
    const double own = (belief.residual + kPriorBins * noise_) / (moments.bins + kPriorBins);
    Believe(moments, own, belief);
  }
  return Collapsed(belief, done, moments.bins);
}

Forecast CurveForecaster::Fresh() const { return Of(CurveSketch()); }

Forecast CurveForecaster::Collapsed(const Belief& belief, double done, int bins) const {
  const double far = 4 * most_work_;
  PerCell near_shapes, far_shapes;
  Shapes(done, near_shapes);
  Shapes(far, far_shapes);
  double exponent = 0, near = 0, ahead = 0, gain_square = 0;
  for (std::size_t i = 0; i < cells_; ++i) {
    const double weight = belief.weight[i];
    const double drop = belief.start[i] - belief.limit[i];
    near += weight * drop * near_shapes[i];
    ahead += weight * drop * far_shapes[i];
    gain_square +=
        weight * Square(near_shapes[i] - far_shapes[i]) * (drop * drop + belief.drop_variance[i]);
    exponent += weight * kGrid[i / halves_].value;
  }
  Forecast forecast{.known = true,
                    .limit = zero_ + unit_ * belief.limit_mean,
                    .scale = most_work_,
                    .exponent = exponent,
                    .done = done};
  double variance = belief.limit_variance;
  if (near > 0) {
    // (scale + far) / (scale + done) to the power of -exponent is the part of the drop left at
    // `far`.
    const double left = std::clamp(ahead / near, 1e-4, 0.99);
    const double ratio = std::pow(left, -1 / exponent);
    const double lowest = Scale(0, 0);
    const double highest = Scale(kExponents - 1, halves_ - 1);
    const double scale = ratio * done < far ? (far - ratio * done) / (ratio - 1) : lowest;
    forecast.scale = std::clamp(scale, lowest, highest);
    forecast.exponent =
        -std::log(left) / std::log((forecast.scale + far) / (forecast.scale + done));
    forecast.drop = unit_ * near * std::pow(1 + done / forecast.scale, forecast.exponent);
    // For a curve far from its end, it is uncertain how fast it falls. SpreadAt(far) must not be
    // less than that uncertainty.
    variance = std::max(variance, (gain_square - Square(near - ahead)) / Square(1 - left));
  }
  const double way_error =
      (kWayError + kWayErrorOfOneBin / (bins > 0 ? bins : kBinsOfAStudy)) * std::max(near, 0.0);
  forecast.spread = unit_ * std::sqrt(variance + Square(kModelError) + Square(way_error));
  return forecast;
}

}  // namespace sluice
