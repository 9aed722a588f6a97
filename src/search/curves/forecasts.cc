#include "search/curves/forecasts.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "search/curves/curve_forecaster.h"

namespace sluice {
namespace {

bool IsBegun(const CurveSketch& sketch) { return sketch.diverged() || !sketch.bins().empty(); }

}  // namespace

void Forecasts::Add(TrialId trial, Work work, double loss) {
  SLUICE_CHECK(IsSet(trial), "trials count from one");
  if (Number(trial) > sketches_.size()) sketches_.resize(Number(trial));
  sketches_[Number(trial) - 1].Add(work, loss);
  due_ = true;
}

void Forecasts::Renew() {
  if (!due_) return;
  std::vector<const CurveSketch*> sketches;
  for (const CurveSketch& sketch : sketches_) sketches.push_back(&sketch);
  const CurveForecaster forecaster(sketches);
  fresh_ = forecaster.Fresh();
  forecasts_.clear();
  for (const CurveSketch& sketch : sketches_) forecasts_.push_back(forecaster.Of(sketch));
  fresh_ = Expected();
  for (std::size_t i = 0; i < sketches_.size(); ++i)
    if (!IsBegun(sketches_[i])) forecasts_[i] = fresh_;
  due_ = false;
}

// The forecast of a trial that has not begun. The next trial is drawn like the trials that have
// begun. So its expected loss is the mean of their losses, and its variance is the variance of
// their losses plus the uncertainty about them.
Forecast Forecasts::Expected() const {
  double furthest = 0;
  for (const CurveSketch& sketch : sketches_)
    furthest = std::max(furthest, static_cast<double>(sketch.done()));
  const double far = 4 * furthest;
  double count = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < sketches_.size(); ++i) {
    if (!IsBegun(sketches_[i])) continue;
    const double mean = forecasts_[i].At(far);
    ++count;
    sum += mean;
    squares += mean * mean + std::pow(forecasts_[i].SpreadAt(far), 2);
  }
  Forecast fresh = fresh_;
  if (!fresh.known || count == 0 || far == 0) return fresh;
  const double left = std::pow(1 + far / fresh.scale, -fresh.exponent);
  const double start = fresh.limit + fresh.drop;
  const double mean = sum / count;
  fresh.limit = (mean - start * left) / (1 - left);
  fresh.drop = start - fresh.limit;
  if (fresh.drop <= 0) {
    fresh.limit = mean;
    fresh.drop = 0;
  }
  fresh.spread = std::sqrt(std::max(squares / count - mean * mean, 0.0)) / (1 - left);
  return fresh;
}

const Forecast& Forecasts::Of(TrialId trial) {
  Renew();
  return Number(trial) <= forecasts_.size() ? forecasts_[Number(trial) - 1] : fresh_;
}

const Forecast& Forecasts::Fresh() {
  Renew();
  return fresh_;
}

void Forecasts::Save(StateWriter& writer) const {
  writer.Put(sketches_.size());
  for (const CurveSketch& sketch : sketches_) sketch.Save(writer);
}

Status Forecasts::Load(StateReader& reader) {
  sketches_.clear();
  for (std::size_t left = reader.Count(); left > 0 && reader.ok(); --left)
    SLUICE_TRY(sketches_.emplace_back().Load(reader));
  due_ = true;
  return {};
}

}  // namespace sluice
