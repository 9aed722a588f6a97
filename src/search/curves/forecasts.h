#pragma once

#include <span>
#include <vector>

#include "base/forecast.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/state.h"
#include "search/curves/curve_sketch.h"

namespace sluice {

// The learning curves of a study's trials, and what is to be expected of them. State are the curves alone:
// forecasts are worked out anew when they are asked for after a report.
class Forecasts {
 public:
  // Reports of trials are told in any order; losses, smaller is better.
  void Add(TrialId trial, Work work, double loss);

  // Of a trial, or of one that nobody has begun if it has not reported. Good until the next report.
  const Forecast& Of(TrialId trial);
  const Forecast& Fresh();

  std::size_t size() const { return sketches_.size(); }  // the largest trial that has reported
  void Save(StateWriter& writer) const;
  // Corruption, with this of no use any more, on what Save does not write.
  Status Load(StateReader& reader);

 private:
  void Renew();
  Forecast Expected() const;

  std::vector<CurveSketch> sketches_;  // trial n is at n - 1
  bool due_ = true;                    // something was reported since
  std::vector<Forecast> forecasts_;
  Forecast fresh_;
};

}  // namespace sluice
