#pragma once

#include <span>
#include <vector>

#include "base/forecast.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/state.h"
#include "search/curves/curve_sketch.h"

namespace sluice {

// The learning curves of a study's trials, and the forecasts made from them. Only the curves are
// state: forecasts are computed again when they are asked for after a report.
class Forecasts {
 public:
  // Adds a report. Reports may come in any order; of losses smaller is better.
  void Add(TrialId trial, Work work, double loss);

  // The forecast of a trial; Fresh if it has not reported. Valid until the next report.
  const Forecast& Of(TrialId trial);
  // The forecast of a trial that has not begun.
  const Forecast& Fresh();

  // The largest id of a trial that has reported.
  std::size_t size() const { return sketches_.size(); }
  void Save(StateWriter& writer) const;
  // Fails with Corruption on a state that Save does not write. This object is then not usable.
  Status Load(StateReader& reader);

 private:
  void Renew();
  Forecast Expected() const;

  std::vector<CurveSketch> sketches_;  // trial n is at n - 1
  bool due_ = true;                    // a report has come since the forecasts were made
  std::vector<Forecast> forecasts_;
  Forecast fresh_;
};

}  // namespace sluice
