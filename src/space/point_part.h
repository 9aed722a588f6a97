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

// A value as a Point holds it, by the rules of Space::Decode. Fails with the parameter's name
// first: "lr: expected a number in [0, 1], found 2".
Result<double> CoordinateOf(const Parameter& parameter, const Value& value);
// The same for a text as on a command line: the choice that reads so, or a number.
Result<double> CoordinateOfText(const Parameter& parameter, const std::string& text);

// The index of the parameter with this name. Fails with the nearest name that exists.
Result<std::size_t> FindParameter(const Space& space, std::string_view name);

// A JSON object with some of the parameters; null for a value that is to be filled in. Fails on
// unknown names and on values outside the space.
Result<PointPart> DecodePart(const Space& space, std::string_view json);
std::string EncodePart(const Space& space, const PointPart& partial);

// The members of a JSON object that are scalars; lists, objects and null are left out. Fails if the
// text is not an object.
Result<NamedValues> DecodeNamedValues(std::string_view json);

// The point with its missing values drawn from the space. It is drawn again until every given value
// belongs to an active parameter and the constraints hold. Fails if no draw succeeds. The message
// names the parameter that is not active or the constraint that does not hold.
Result<Point> FillIn(const Space& space, const PointPart& partial, Random draws);
// The same for one of many points, such as those of a file. Each draw decrements `draws_left`.
// Fails when none are left.
Result<Point> FillIn(const Space& space, const PointPart& partial, Random draws,
                     std::uint64_t& draws_left);
// The most draws for all points of a file or a request.
constexpr std::uint64_t kMostDrawsOfAll = 1'000'000;

}  // namespace sluice
