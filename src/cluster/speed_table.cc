#include "cluster/speed_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace sluice {
namespace {

SpeedTable MadeOf(std::vector<SpeedTable::Knot> knots) {
  auto table = SpeedTable::Make(std::move(knots));
  SLUICE_CHECK(table.has_value(), "a table of our own is good");
  return *std::move(table);
}

}  // namespace

Result<SpeedTable> SpeedTable::Make(std::vector<Knot> knots) {
  if (knots.empty()) return InvalidArgument("expected at least one point, found none");
  const auto good = [](double value) { return std::isfinite(value) && value > 0; };
  for (std::size_t i = 0; i < knots.size(); ++i) {
    if (!good(knots[i].x) || !good(knots[i].speed_up)) {
      return InvalidArgument(
          fmt::format("expected numbers above 0, found {}: {}", knots[i].x, knots[i].speed_up));
    }
    if (i == 0) continue;
    if (knots[i].x <= knots[i - 1].x) {
      return InvalidArgument(fmt::format("expected points in rising order, found {} after {}",
                                         knots[i].x, knots[i - 1].x));
    }
    if (knots[i].speed_up < knots[i - 1].speed_up) {
      return InvalidArgument(fmt::format(
          "expected a speed-up that never falls, found {} at {} after {}: leave out this point "
          "and all after it",
          knots[i].speed_up, knots[i].x, knots[i - 1].speed_up));
    }
  }
  return SpeedTable(std::move(knots));
}

double SpeedTable::At(double x) const {
  if (x <= knots_.front().x) return knots_.front().speed_up * std::max(x, 0.0) / knots_.front().x;
  if (x >= knots_.back().x) return knots_.back().speed_up;
  const auto above = std::ranges::upper_bound(knots_, x, {}, &Knot::x);
  const Knot& right = *above;
  const Knot& left = *(above - 1);
  return left.speed_up + (right.speed_up - left.speed_up) * (x - left.x) / (right.x - left.x);
}

const std::vector<std::string>& WidthTableNames() {
  static const auto& names =
      *new std::vector<std::string>{"rigid", "linear", "resnet50", "resnet18"};
  return names;
}

Result<SpeedTable> WidthTable(std::string_view name) {
  if (name == "rigid") return SpeedTable();
  if (name == "linear") return MadeOf({{1, 1}, {1024, 1024}});
  if (name == "resnet50") return MadeOf({{1, 1}, {2, 1.8699}, {4, 3.4215}, {8, 5.5983}});
  if (name == "resnet18") return MadeOf({{1, 1}, {2, 1.85}, {4, 3.43}, {8, 5.40}});
  return InvalidArgument(fmt::format("expected one of {}, found '{}'{}", Join(WidthTableNames()),
                                     name, DidYouMean(name, WidthTableNames())));
}

const SpeedTable& HydroFusion() {
  static const auto& table = *new SpeedTable(MadeOf({{1, 1}, {10, 6.5}, {100, 15.9}, {220, 16.5}}));
  return table;
}

}  // namespace sluice
