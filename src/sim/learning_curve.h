#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "engine/study.h"
#include "space/space.h"

namespace sluice {

// How the trials of a study learn. The defaults of start and best are those of an objective to be
// maximized. DefaultWorkload sets others for an objective to be minimized.
struct CurveSpec {
  std::string family = "power";  // or hypersched
  // Of the family power:
  double start = 0.1;     // the metric before any work: chance
  double best = 0.94;     // its limit at the best point of the space
  double half_work = 10;  // work after which an average trial is half way from start to its limit
  double sharpness = 4;   // how fast the limit gets worse away from the best point
  double crossing = 0.5;  // how much faster trials with worse limits start
  double noise = 0.005;   // standard deviation in each report, as a fraction of |best - start|
  double plateaus = 0;    // the fraction of trials that learn nothing for a while
  double divergence = 0;  // the fraction of trials that fall back to `start` at some work
  double nans = 0;        // the fraction of trials that report NaN from some work on
};

const std::vector<std::string>& CurveFamilies();

// The learning curve of one trial. At() is the value that the trial reports after this much work.
// The same work always gives the same value.
class LearningCurve {
 public:
  LearningCurve() : noise_stream_(0) {}
  double At(Work work) const;
  // The value that the curve approaches, without noise and accidents.
  double limit() const { return limit_; }

 private:
  friend class LearningCurves;
  double HyperSched(double work) const;
  double Power(double work) const;

  bool hypersched_ = false;
  bool accuracy_ = false;  // hypersched: to be maximized
  double b0_ = 0, b1_ = 0, b2_ = 0;
  double start_ = 0;
  double limit_ = 0;
  double scale_ = 1;  // work
  double exponent_ = 1;
  double noise_ = 0;         // standard deviation
  double plateau_from_ = 0;  // work at which the trial stops learning
  double plateau_for_ = 0;   // how much work it then does without learning
  double diverges_at_ = 0;   // work; 0: never
  double nan_at_ = 0;
  Random noise_stream_;
};

// The curves of a study's trials. A curve follows from the scenario's seed, the study's name and
// the trial's point, and from nothing else. So a trial that starts again from an older checkpoint
// reports the same values again, and two policies meet the same trials wherever their samplers
// propose the same points.
//
// hypersched: the synthetic family of HyperSched's evaluation, as published:
//   loss(k) = 1/(b0*k/100 + 0.1*b1 + 0.5) + 0.01*b2 + |0.005*N(0,1)|, accuracy = (2 - loss)/2,
//   b0 exponential with mean 0.1, b1 and b2 uniform in [0, 1).
// The point decides the draw and has no other meaning: there is nothing for a sampler to learn.
//
// power: value(k) = limit + (start - limit) * (1 + k/scale)^-c with normal noise. The space has a
// best point, drawn from the seed. The limit is `best` there and moves towards `start` with the
// distance in unit coordinates. Each choice of a categorical parameter has a distance of its own.
// Along one direction, which is drawn too, trials learn quicker and end worse (as with larger
// learning rates), so that curves cross.
class LearningCurves {
 public:
  LearningCurves(const CurveSpec& curve, const StudySpec& study, std::uint64_t scenario_seed);

  LearningCurve Of(const Point& point) const;
  // Where the limit is `best`, in unit coordinates.
  const std::vector<double>& optimum() const { return optimum_; }

 private:
  struct Place {
    double distance = 0;  // mean square over the active parameters, each at most 1
    double ahead = 0;     // position along the direction in which trials learn quicker, -1 to 1
  };
  Place PlaceOf(const Point& point) const;
  LearningCurve PowerAt(const Place& place, Random draws) const;

  CurveSpec curve_;
  bool maximize_;
  Space space_;
  Random stream_;
  std::vector<double> optimum_;
  std::vector<double> direction_;
  std::vector<double> importance_;                // of each parameter; the mean is 1
  std::vector<std::vector<double>> choice_cost_;  // of each parameter's choices; 0 for the best
};

}  // namespace sluice
