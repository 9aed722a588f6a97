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

// A point of which some values are known, in the order of the parameters: nothing where the value
// is left to be filled in.
using PointPart = std::vector<std::optional<double>>;

// Parameters by name, as a program or a user gave them.
using NamedValues = std::vector<std::pair<std::string, Value>>;

// A value as a Point holds it, by the rules of Space::Decode. Fails with the parameter's name
// first: "lr: expected a number in [0, 1], found 2".
Result<double> CoordinateOf(const Parameter& parameter, const Value& value);
// The same of a text as on a command line: the choice that reads so, or a number.
Result<double> CoordinateOfText(const Parameter& parameter, const std::string& text);

// The index of a parameter by name; fails with the nearest name there is.
Result<std::size_t> FindParameter(const Space& space, std::string_view name);

// A JSON object with some of the parameters, null for one that is to be filled in. Fails on unknown
// names and on values outside the space.
Result<PointPart> DecodePart(const Space& space, std::string_view json);
std::string EncodePart(const Space& space, const PointPart& partial);

// The members of a JSON object of scalars; lists, objects and null are left out. Fails on what is
// no object.
Result<NamedValues> DecodeNamedValues(std::string_view json);

// The point with what is missing drawn from the space, again and again until every value that was
// given is of an active parameter and the constraints hold. Fails with the parameter that is not
// active or the constraint that does not hold, if that never comes.
Result<Point> FillIn(const Space& space, const PointPart& partial, Random draws);
// The same for one of many points, as of a file: takes what it draws from `draws_left`, and fails
// when nothing is left of it.
Result<Point> FillIn(const Space& space, const PointPart& partial, Random draws,
                     std::uint64_t& draws_left);
// How often is drawn at most for all points of a file or a request.
constexpr std::uint64_t kMostDrawsOfAll = 1'000'000;

}  // namespace sluice
