#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// How much quicker something gets with more of something: a curve through measured points, linear
// between them. Below the first point it is in proportion (half a device gives half the speed),
// beyond the last it stays where it is: nothing is claimed that was not measured.
class SpeedTable {
 public:
  struct Knot {
    double x = 1;
    double speed_up = 1;
    friend bool operator==(const Knot&, const Knot&) = default;
  };

  // One device is as quick as one device.
  SpeedTable() : knots_{{1, 1}} {}
  // Fails unless x and speed-up are positive and finite, x rises strictly, and speed-up never falls.
  static Result<SpeedTable> Make(std::vector<Knot> knots);

  double At(double x) const;
  // The last point's x: more of it is of no use.
  double widest() const { return knots_.back().x; }
  const std::vector<Knot>& knots() const { return knots_; }

 private:
  explicit SpeedTable(std::vector<Knot> knots) : knots_(std::move(knots)) {}
  std::vector<Knot> knots_;
};

// Width to speed-up, by name:
//   rigid     one device, and no more
//   linear    as many times as quick as there are devices, up to 1024
//   resnet50  HyperSched's measurement on 1, 2, 4 and 8 V100
//   resnet18  the same
const std::vector<std::string>& WidthTableNames();
// Fails on an unknown name, suggesting the nearest.
Result<SpeedTable> WidthTable(std::string_view name);

// How many times as much F fused trials do together as one alone: Hydro's artifact, ResNet-18 at an
// eighth of its width, batch 256.
const SpeedTable& HydroFusion();

}  // namespace sluice
