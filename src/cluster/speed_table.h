#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// Speed-up as a function of x, which is a number of devices or of fused trials: a curve through
// measured points, linear between them. Below the first point the speed-up is in proportion to x
// (half a device gives half the speed). Beyond the last point it stays constant: no speed-up is
// claimed that was not measured.
class SpeedTable {
 public:
  struct Knot {
    double x = 1;
    double speed_up = 1;
    friend bool operator==(const Knot&, const Knot&) = default;
  };

  // Speed-up 1 at x = 1, and no more beyond it.
  SpeedTable() : knots_{{1, 1}} {}
  // Fails if the list is empty, if a number is not positive and finite, if x does not rise
  // strictly, or if the speed-up falls.
  static Result<SpeedTable> Make(std::vector<Knot> knots);

  double At(double x) const;
  // The x of the last point: the table claims no more speed beyond it.
  double widest() const { return knots_.back().x; }
  const std::vector<Knot>& knots() const { return knots_; }

 private:
  explicit SpeedTable(std::vector<Knot> knots) : knots_(std::move(knots)) {}
  std::vector<Knot> knots_;
};

// Width to speed-up, by name:
//   rigid     one device, and no more
//   linear    the speed-up is the number of devices, up to 1024
//   resnet50  HyperSched's measurement on 1, 2, 4 and 8 V100
//   resnet18  likewise
const std::vector<std::string>& WidthTableNames();
// Fails on an unknown name, suggesting the nearest.
Result<SpeedTable> WidthTable(std::string_view name);

// The throughput of x fused trials relative to that of one trial alone. From Hydro's artifact:
// ResNet-18 at an eighth of its width, batch 256.
const SpeedTable& HydroFusion();

}  // namespace sluice
