#include "engine/parts/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "space/expression/expression.h"

namespace sluice {
namespace {

std::size_t IndexOf(const Space& space, const std::string& name) {
  const auto index = space.Find(name);
  SLUICE_CHECK(index.has_value(), "every parameter that a shape names is in the space");
  return *index;
}

// Puts a text in quotes if it could be misread: if it is empty, or contains a space, a quote or a
// backslash.
std::string TextOf(const Value& value) {
  std::string text = FormatValue(value);
  return text.empty() || text.find_first_of(" '\\") != std::string::npos ? QuotedValue(value)
                                                                         : text;
}

}  // namespace

bool HasSeveralShapes(const StudySpec& spec) {
  return !spec.shape.empty() || !spec.shape_by_presence.empty();
}

std::string ShapeOf(const StudySpec& spec, const Point& point) {
  std::string text = spec.name;
  for (const std::string& name : spec.shape) {
    const std::size_t index = IndexOf(spec.space, name);
    text += fmt::format(" {}={}", name,
                        std::isnan(point[index]) ? "" : TextOf(spec.space.ValueAt(point, index)));
  }
  for (const std::string& name : spec.shape_by_presence)
    text += fmt::format(" {}={}", name, std::isnan(point[IndexOf(spec.space, name)]) ? "" : "on");
  return text;
}

bool HaveOneShape(const StudySpec& spec, const Point& a, const Point& b) {
  const auto both_inactive = [&](std::size_t index) {
    return std::isnan(a[index]) && std::isnan(b[index]);
  };
  const bool same_values = std::ranges::all_of(spec.shape, [&](const std::string& name) {
    const std::size_t index = IndexOf(spec.space, name);
    return a[index] == b[index] || both_inactive(index);
  });
  return same_values && std::ranges::all_of(spec.shape_by_presence, [&](const std::string& name) {
           const std::size_t index = IndexOf(spec.space, name);
           return std::isnan(a[index]) == std::isnan(b[index]);
         });
}

}  // namespace sluice
