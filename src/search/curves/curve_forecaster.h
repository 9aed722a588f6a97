#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/forecast.h"
#include "search/curves/curve_sketch.h"

namespace sluice {

// Forecasts of the trials of one study, each from its own curve and from what the study's trials
// have in common. Pure and deterministic. Losses may be in any unit, with any zero.
//
// The model: a trial's loss after some work is start * x + limit * (1 - x) plus noise, with x = (1
// + work/scale)^-exponent. Exponent and scale are those of one cell of a grid. Given the cell,
// start and limit are normal variables. Before any report they have the study's means and
// variances. They are solved for exactly. What the trials have in common (those means and
// variances, the probability of each cell, the noise of reports) is found by a few steps of
// expectation maximisation over all of them. So the forecast of a trial with two reports follows
// mostly from the study, and that of a trial with twenty reports mostly from its own curve. The
// mixture over cells is returned as one power law. The limit of this power law is the mean limit of
// the mixture. Its values at the work done, and at four times the most work that the study has
// seen, are the mean values of the mixture there.
//
// - A trial that diverged is expected at the worst loss that the study has seen, with little
//   uncertainty: it is not worth running on. The same is expected of a trial whose last two bins
//   are far above the study's range (by ten times the range).
// - A lone report far outside the study's range (by ten times the range) is ignored.
// - Until a study has two different losses there is no unit for losses, and no forecast is known.
class CurveForecaster {
 public:
  // Takes all the study's trials: running, paused and ended. The sketches are read here and not
  // kept.
  explicit CurveForecaster(std::span<const CurveSketch* const> sketches);

  Forecast Of(const CurveSketch& sketch) const;
  // The forecast of a trial that has not begun.
  Forecast Fresh() const;

 private:
  static constexpr std::size_t kExponents = 5;
  static constexpr std::size_t kMostHalves = 16;
  static constexpr std::size_t kMostCells = kExponents * kMostHalves;
  // A value for each cell: by exponent, and within an exponent by rising half-work.
  using PerCell = std::array<double, kMostCells>;

  // The shapes (x in each cell) at the work of each bin of a sketch. Kept because most curves of a
  // study have the same bins.
  struct Shaped {
    double work = -1;
    PerCell shapes;
  };
  using ShapesAt = std::array<Shaped, CurveSketch::kMostBins>;

  // What a curve says about each cell: sums over its bins.
  struct Moments {
    double count = 0;  // sum of the bins' weights
    double y = 0;
    double yy = 0;
    int bins = 0;
    PerCell x, xx, xy;
  };

  // What is believed of one trial, given its moments.
  struct Belief {
    PerCell weight, start, limit, drop_variance;
    double start_mean = 0, start_variance = 0;
    double limit_mean = 0, limit_variance = 0;
    double residual = 0;  // the weighted sum of squares that is expected to remain
  };

  struct Normal {
    double mean = 0;
    double variance = 1;
  };

  void SetUnit(std::span<const CurveSketch* const> sketches);
  void SetGrid(std::span<const CurveSketch* const> sketches);
  void Learn(const std::vector<Moments>& trials);
  // One step of expectation maximisation, over every `stride`-th trial.
  void Step(const std::vector<Moments>& trials, std::size_t stride);
  void LearnCells(const PerCell& seen);
  bool HasDiverged(const CurveSketch& sketch) const;
  bool IsWild(std::span<const CurveSketch::Bin> bins, std::size_t index) const;
  double Scale(std::size_t exponent, std::size_t half) const;
  // x at this much work, in each cell.
  void Shapes(double work, PerCell& shapes) const;
  void Gather(const CurveSketch& sketch, ShapesAt& shapes_at, Moments& moments) const;
  void Believe(const Moments& moments, double noise, Belief& belief) const;
  Forecast Collapsed(const Belief& belief, double done, int bins) const;

  bool known_ = false;
  // A loss is taken as (loss - zero_) / unit_, so that the study's range is about 0 to 1.
  double zero_ = 0;
  double unit_ = 1;
  double worst_ = 0;      // the worst loss that is not wild
  double most_work_ = 1;  // of any trial
  // Half-works (where x is about a half) are 2^(first_octave_ + octaves_ * i).
  int first_octave_ = 0;
  int octaves_ = 1;
  std::size_t halves_ = 0;
  std::size_t cells_ = 0;
  PerCell prior_{};  // of the cells
  Normal start_;
  Normal limit_;
  double noise_ = 0;  // variance of one report
};

}  // namespace sluice
