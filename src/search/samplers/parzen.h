#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "space/space.h"

namespace sluice {

// One parameter as an axis of a density on the unit cube: a continuum, cells in order, or cells
// without an order. A numeric parameter with more than 64 values is a continuum: its cells would be
// too narrow to matter.
struct Axis {
  enum class Kind : std::uint8_t { kContinuous, kOrdered, kUnordered };
  Kind kind = Kind::kContinuous;
  std::vector<double> centres = {};  // of the cells, rising
  std::vector<double> widths = {};   // of the cells, adding up to 1

  // The cell with the centre nearest to this coordinate.
  std::size_t CellOf(double coordinate) const;
};

Axis AxisOf(const Space& space, std::size_t index);

// A mixture of product kernels: one for each observed point, and one, the prior, for the whole
// cube. On a continuum and on ordered cells a kernel is a normal law cut to the unit interval. On
// unordered cells it has a mass on its own choice and spreads the rest evenly.
//
// The density is evaluated at C points over K kernels and d axes. That takes C * K * d
// multiplications in single precision, by columns so that they vectorise, and C * K exponentials.
// This is nearly the whole cost of a proposal. It is linear in K, so a caller with many
// observations passes a sample of them. Sums run in a fixed order, so the same rows give the same
// bits on every machine.
class Parzen {
 public:
  struct Kernels {
    std::span<const double> rows;     // coordinates, a row of axes.size() for each kernel
    std::span<const double> weights;  // one for each row, above 0
    // The standard deviations of kernels on a continuum and on ordered cells. With `gaps` the
    // standard deviation on a continuum is instead, for each kernel and axis, the larger of the
    // gaps to the neighbouring kernels on that axis, but at least `narrowest`.
    double width = 0.1;
    double cell_width = 0.1;
    bool gaps = false;
    double narrowest = 0.01;
    // If not empty: one standard deviation for each axis, in place of all widths above.
    std::span<const double> axis_widths = {};
  };

  Parzen(std::span<const Axis> axes, const Kernels& kernels);

  // Draws one point and writes its coordinates into `row`. On cells these are centres.
  void Sample(Random& random, std::span<double> row) const;
  // Writes the logarithm of the density (on cells: of the mass) at each row of `rows` into
  // `result`.
  void LogDensity(std::span<const double> rows, std::span<float> result) const;

 private:
  // The mass of a kernel in a cell, for each pair of a kernel's own cell and a cell.
  struct Table {
    std::size_t cells = 0;
    std::vector<float> log_mass;  // [cell][own cell]; the prior's own cell is one past the last
    std::vector<double> sums;     // [own cell][cell], cumulative masses
  };
  Table MakeTable(const Axis& axis, double width) const;
  class LogScale;
  void AddAxis(std::size_t axis, const Kernels& kernels, const LogScale* scale);

  std::span<const Axis> axes_;
  std::size_t count_;                 // of kernels, the prior included
  std::size_t padded_;                // count_ rounded up, so that loops have no remainder
  std::vector<double> running_;       // cumulative weights
  std::vector<float> centres_;        // [axis][kernel], of continua
  std::vector<float> inverse_;        // [axis][kernel], 1 / width
  std::vector<std::uint32_t> cells_;  // [axis][kernel], own cell
  std::vector<Table> tables_;         // by axis; empty on a continuum
  std::vector<float> constants_;  // by kernel: log of its weight less the log of what normalises it
};

}  // namespace sluice
