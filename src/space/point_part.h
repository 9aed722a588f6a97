#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "space/space.h"

namespace sluice {

// A point of which some values are known, in the order of the parameters. A value that is missing
// is still to be filled in.
using PointPart = std::vector<std::optional<double>>;

// Values by the names of parameters, as a program or a user gave them.
using NamedValues = std::vector<std::pair<std::string, Value>>;

// Converts a value to the number that a Point holds, by the rules of Space::Decode. An error's
// message begins with the parameter's name: "lr: expected a number in [0, 1], found 2".
Result<double> CoordinateOf(const Parameter& parameter, const Value& value);
// The same for a text from a command line: the text of a choice, or a number.
Result<double> CoordinateOfText(const Parameter& parameter, const std::string& text);

// The index of the parameter with this name. If there is none, the error suggests the nearest name.
Result<std::size_t> FindParameter(const Space& space, std::string_view name);

// Reads a JSON object with values of some parameters. A null counts as a missing value. Fails on
// unknown names and on values outside the space.
Result<PointPart> DecodePart(const Space& space, std::string_view json);
std::string EncodePart(const Space& space, const PointPart& partial);

// The members of a JSON object that are scalars. Lists, objects and null are left out. Fails if the
// text is not an object.
Result<NamedValues> DecodeNamedValues(std::string_view json);

// Draws the missing values of a point from the space. Draws again until every given value belongs
// to an active parameter and the constraints hold. Fails if no draw succeeds. The message names the
// parameter that is not active or the constraint that does not hold.
Result<Point> FillIn(const Space& space, const PointPart& partial, Random draws);
// The same for one of many points, such as those of a file. Each draw decrements `draws_left`.
// Fails when no draws are left.
Result<Point> FillIn(const Space& space, const PointPart& partial, Random draws,
                     std::uint64_t& draws_left);
// The most draws for all points of a file or a request.
constexpr std::uint64_t kMostDrawsOfAll = 1'000'000;

}  // namespace sluice
