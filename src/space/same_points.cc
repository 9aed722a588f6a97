#include "space/same_points.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

std::string WhyOtherValues(const Parameter& a, const Parameter& b) {
  const std::string name = fmt::format("'{}'", a.name);
  if (a.kind != b.kind) return name + " is of another kind";
  if (a.choices != b.choices) return name + " has other choices";
  if (a.low != b.low || a.high != b.high) return name + " has another range";
  if (StepOf(a) != StepOf(b)) return name + " has another step";
  if (a.when != b.when) return name + " has another condition";
  return "";
}

}  // namespace

std::string WhyOtherPoints(const Space& space, const Space& other) {
  for (const Parameter& parameter : other.parameters()) {
    if (!space.Find(parameter.name)) return fmt::format("it has no '{}'", parameter.name);
  }
  for (const Parameter& parameter : space.parameters()) {
    if (!other.Find(parameter.name)) return fmt::format("only it has '{}'", parameter.name);
  }
  if (!std::ranges::equal(space.parameters(), other.parameters(), {}, &Parameter::name,
                          &Parameter::name))
    return "its parameters are in another order";
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (std::string why = WhyOtherValues(space.parameters()[i], other.parameters()[i]);
        !why.empty())
      return why;
  }
  return space.constraints() == other.constraints() ? "" : "it has other constraints";
}

}  // namespace sluice
