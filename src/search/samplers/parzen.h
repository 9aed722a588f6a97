#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "space/space.h"

namespace sluice {

// How one parameter looks to a density on the unit cube: a continuum, a few cells in order, or a
// few cells without one. Discrete parameters with many values are a continuum; their values are the
// middles of cells too narrow to matter.
struct Axis {
  enum class Kind : std::uint8_t { kContinuous, kOrdered, kUnordered };
  Kind kind = Kind::kContinuous;
  std::vector<double> centres = {};  // of the cells, rising
  std::vector<double> widths = {};   // of the cells, adding up to 1

  // The cell of one of the centres, or the nearest.
  std::size_t CellOf(double coordinate) const;
};

Axis AxisOf(const Space& space, std::size_t index);

// A mixture of products, one kernel for each observed point and one, the prior, for the whole cube:
// a normal law cut to the unit interval on a continuum and on ordered cells, a mass on the own
// choice with the rest spread evenly on unordered ones.
//
// The density is evaluated at C points over K kernels and d axes: C * K * d multiplications in
// single precision, by columns so that they vectorise, and one exponential for each of C * K. That
// is the whole cost of a proposal, and linear in K: who has many observations gives a sample of
// them. Sums run in a fixed order, so the same rows give the same bits on every machine.
class Parzen {
 public:
  struct Kernels {
    std::span<const double> rows;     // coordinates, a row of axes.size() for each kernel
    std::span<const double> weights;  // one for each row, above 0
    // The standard deviation of kernels on a continuum, and on ordered cells. `gaps`: on a
    // continuum it is instead, for each kernel and axis, the larger of the gaps to its neighbours
    // there, at least `narrowest`.
    double width = 0.1;
    double cell_width = 0.1;
    bool gaps = false;
    double narrowest = 0.01;
    // Or the standard deviation on each axis, in place of all of these; empty: none.
    std::span<const double> axis_widths = {};
  };

  Parzen(std::span<const Axis> axes, const Kernels& kernels);

  // Draws one point: its coordinates into `row`. Cells give their centres.
  void Sample(Random& random, std::span<double> row) const;
  // The logarithm of the density (on cells: of the mass) at each row of `rows`, into `result`.
  void LogDensity(std::span<const double> rows, std::span<float> result) const;

 private:
  // A kernel's share of a cell, for each pair of own cell and cell, and its logarithm.
  struct Table {
    std::size_t cells = 0;
    std::vector<float> log_mass;  // [cell][own cell], the prior's in an own cell behind the last
    std::vector<double> sums;     // [own cell][cell], running
  };
  Table MakeTable(const Axis& axis, double width) const;
  class LogScale;
  void AddAxis(std::size_t axis, const Kernels& kernels, const LogScale* scale);

  std::span<const Axis> axes_;
  std::size_t count_;                 // kernels, the prior among them
  std::size_t padded_;                // count_ rounded up, so that loops have no rest
  std::vector<double> running_;       // sums of the weights
  std::vector<float> centres_;        // [axis][kernel], of continua
  std::vector<float> inverse_;        // [axis][kernel], 1 / width
  std::vector<std::uint32_t> cells_;  // [axis][kernel], own cell
  std::vector<Table> tables_;         // by axis; empty on a continuum
  std::vector<float> constants_;      // by kernel: logarithm of weight and of what normalises it
};

}  // namespace sluice
