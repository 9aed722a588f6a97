#include "sim/learning_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/digest.h"

namespace sluice {
namespace {

// Choices have no neighbours, so each choice has a cost of its own. A list with more choices than
// this is probably a list of numbers. Each further choice costs as much as choice kMostChoices - 1.
constexpr std::size_t kMostChoices = 1000;

double Exponential(Random& draws, double mean) { return -mean * std::log(1 - draws.Uniform()); }

}  // namespace

const std::vector<std::string>& CurveFamilies() {
  static const auto& names = *new std::vector<std::string>{"power", "hypersched"};
  return names;
}

double LearningCurve::HyperSched(double work) const {
  Random noise = noise_stream_.Fork(static_cast<std::uint64_t>(work));
  const double loss =
      1 / (b0_ * work / 100 + 0.1 * b1_ + 0.5) + 0.01 * b2_ + std::abs(0.005 * noise.Normal());
  return accuracy_ ? (2 - loss) / 2 : loss;
}

double LearningCurve::Power(double work) const {
  const bool diverged = diverges_at_ > 0 && work >= diverges_at_;
  double learned = diverged ? 0 : work;
  // Work on the plateau teaches nothing.
  if (learned > plateau_from_)
    learned = plateau_from_ + std::max(0.0, learned - plateau_from_ - plateau_for_);
  double value = limit_ + (start_ - limit_) * std::pow(1 + learned / scale_, -exponent_);
  if (noise_ > 0) value += noise_ * noise_stream_.Fork(static_cast<std::uint64_t>(work)).Normal();
  return value;
}

double LearningCurve::At(Work work) const {
  const auto units = static_cast<double>(work);
  if (hypersched_) return HyperSched(units);
  if (nan_at_ > 0 && units >= nan_at_) return std::numeric_limits<double>::quiet_NaN();
  return Power(units);
}

LearningCurves::LearningCurves(const CurveSpec& curve, const StudySpec& study,
                               std::uint64_t scenario_seed)
    : curve_(curve),
      maximize_(study.objective.direction == Direction::kMaximize),
      space_(study.space),
      stream_(Random(scenario_seed).Fork("curve").Fork(study.name)) {
  Random draws = stream_.Fork("space");
  double length = 0;
  double total = 0;
  for (const Parameter& parameter : space_.parameters()) {
    // The best point is kept away from the edges: a sampler that tries corners first would find it
    // there by luck.
    optimum_.push_back(draws.Uniform(0.2, 0.8));
    direction_.push_back(draws.Normal());
    length += direction_.back() * direction_.back();
    importance_.push_back(Exponential(draws, 1));
    total += importance_.back();
    std::vector<double>& costs = choice_cost_.emplace_back();
    if (parameter.kind != ParameterKind::kCategorical) continue;
    for (std::size_t i = 0; i < std::min(parameter.choices.size(), kMostChoices); ++i)
      costs.push_back(draws.Uniform());
    *std::ranges::min_element(costs) = 0;
  }
  for (double& step : direction_) step /= std::sqrt(std::max(length, 1e-12));
  for (double& weight : importance_)
    weight *= static_cast<double>(importance_.size()) / std::max(total, 1e-12);
}

LearningCurves::Place LearningCurves::PlaceOf(const Point& point) const {
  Place place;
  double weights = 0;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (std::isnan(point[i])) continue;  // not active
    weights += importance_[i];
    if (const std::vector<double>& costs = choice_cost_[i]; !costs.empty()) {
      const std::size_t choice = std::min(static_cast<std::size_t>(point[i]), costs.size() - 1);
      place.distance += importance_[i] * costs[choice] * 0.5;
      continue;
    }
    const double off = space_.ToUnit(i, point[i]) - optimum_[i];
    place.distance += importance_[i] * off * off;
    place.ahead += direction_[i] * off;
  }
  place.distance /= std::max(weights, 1e-12);
  place.ahead = std::clamp(2 * place.ahead, -1.0, 1.0);
  return place;
}

LearningCurve LearningCurves::Of(const Point& point) const {
  Digest digest;
  for (const double value : point) digest.Add(value);
  const Random own = stream_.Fork("trial").Fork(digest.Value());
  if (curve_.family == "power") return PowerAt(PlaceOf(point), own);
  LearningCurve curve;
  Random draws = own.Fork("shape");
  curve.hypersched_ = true;
  curve.accuracy_ = maximize_;
  curve.b0_ = Exponential(draws, 0.1);
  curve.b1_ = draws.Uniform();
  curve.b2_ = draws.Uniform();
  curve.limit_ = maximize_ ? 1 - 0.005 * curve.b2_ : 0.01 * curve.b2_;
  curve.noise_stream_ = own.Fork("noise");
  return curve;
}

LearningCurve LearningCurves::PowerAt(const Place& place, Random own) const {
  Random draws = own.Fork("shape");
  LearningCurve curve;
  const double range = curve_.best - curve_.start;
  // How far from `start` to `best` the trial's limit is: 1 at the best point, less elsewhere.
  const double left = std::exp(-curve_.sharpness * place.distance);
  curve.start_ = curve_.start;
  curve.limit_ = curve_.start + range * left;
  curve.exponent_ = draws.Uniform(0.7, 1.3);
  const double quicker = std::exp2(4 * curve_.crossing * place.ahead);
  // This scale brings an average trial half way to its limit at half_work.
  const double half = std::exp2(1 / curve.exponent_) - 1;
  curve.scale_ = curve_.half_work / half / quicker;
  curve.noise_ = std::abs(range) * curve_.noise;
  curve.noise_stream_ = own.Fork("noise");

  Random accidents = own.Fork("accidents");
  const double about = 4 * curve_.half_work;  // the work around which accidents happen
  const auto when = [&] { return std::ceil(std::max(1.0, about * accidents.Uniform())); };
  curve.plateau_from_ = std::numeric_limits<double>::infinity();
  if (accidents.Chance(curve_.plateaus)) {
    curve.plateau_from_ = when();
    curve.plateau_for_ = when();
  }
  if (accidents.Chance(curve_.divergence)) curve.diverges_at_ = when();
  if (accidents.Chance(curve_.nans)) curve.nan_at_ = when();
  return curve;
}

}  // namespace sluice
