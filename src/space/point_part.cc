#include "space/point_part.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "base/check.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr std::uint64_t kMostDraws = 10'000;

struct Draw {
  Point point;
  std::optional<std::size_t> inactive;  // an inactive parameter for which a value was given
  bool random = false;                  // another draw may give another point
};

Draw DrawOnce(const Space& space, const PointPart& partial, Random& draws) {
  // Draws a coordinate for each parameter, used or not, so that within one draw, giving one value
  // does not change the coordinates drawn for other parameters.
  std::vector<double> unit(space.size());
  for (double& coordinate : unit) coordinate = draws.Uniform();
  Draw draw{.point = Point(space.size(), std::numeric_limits<double>::quiet_NaN()),
            .inactive = std::nullopt};
  for (const std::vector<std::size_t>& group : space.groups()) {
    for (const std::size_t i : group) {
      if (!space.IsActive(draw.point, i)) {
        if (partial[i] && !draw.inactive) draw.inactive = i;
        continue;
      }
      draw.point[i] = partial[i] ? *partial[i] : space.FromUnit(i, unit[i]);
      draw.random = draw.random || !partial[i];
    }
  }
  return draw;
}

// Names the first constraint that the point breaks.
std::string BrokenConstraint(const Space& space, const Point& point) {
  for (std::size_t i = 0; i < space.rules().size(); ++i) {
    if (!space.Satisfies(point, space.rules()[i]))
      return fmt::format("the constraint '{}'", space.constraints()[i]);
  }
  return "the constraints";
}

}  // namespace

Result<std::size_t> FindParameter(const Space& space, std::string_view name) {
  if (const auto index = space.Find(name)) return *index;
  std::vector<std::string> names;
  for (const Parameter& parameter : space.parameters()) names.push_back(parameter.name);
  return InvalidArgument(
      fmt::format("{}: no parameter of the study has this name{}", name, DidYouMean(name, names)));
}

Result<double> CoordinateOfText(const Parameter& parameter, const std::string& text) {
  for (const Choice& choice : parameter.choices) {
    if (FormatValue(choice) == text) return CoordinateOf(parameter, choice);
  }
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end) return CoordinateOf(parameter, number);
  return CoordinateOf(parameter, text);
}

Result<Point> FillIn(const Space& space, const PointPart& partial, Random draws) {
  std::uint64_t draws_left = kMostDraws;
  return FillIn(space, partial, draws, draws_left);
}

Result<Point> FillIn(const Space& space, const PointPart& partial, Random draws,
                     std::uint64_t& draws_left) {
  SLUICE_CHECK(partial.size() == space.size(),
               "a partial point has an entry for each parameter of the space");
  Draw draw;
  for (std::uint64_t i = 0; i < kMostDraws; ++i) {
    if (draws_left == 0) {
      return InvalidArgument(
          "the missing values took too many draws, because random values rarely satisfy the "
          "constraints: give fewer points in one request, or more values of each point");
    }
    --draws_left;
    draw = DrawOnce(space, partial, draws);
    if (!draw.inactive && space.Satisfies(draw.point)) return std::move(draw.point);
    if (!draw.random) break;
  }
  if (draw.inactive) {
    const Parameter& parameter = space.parameters()[*draw.inactive];
    return InvalidArgument(
        fmt::format("{}: expected no value, since it is active only when {}; leave it out",
                    parameter.name, parameter.when));
  }
  return InvalidArgument(fmt::format("expected a point that satisfies {}, found {}",
                                     BrokenConstraint(space, draw.point),
                                     EncodePart(space, partial)));
}

}  // namespace sluice
