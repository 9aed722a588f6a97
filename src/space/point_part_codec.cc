// The JSON of partial points.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/text.h"
#include "space/point_part.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Result<Json> ParseObject(std::string_view text) {
  constexpr std::size_t kShown = 80;
  constexpr int kDeepest = 32;
  if (NestsDeeperThan(text, kDeepest))
    return InvalidArgument("expected a JSON object that is not nested so deeply");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  return InvalidArgument(fmt::format(
      "expected a JSON object such as {{\"lr\": 0.1}}, found {}",
      json.is_discarded()
          ? "text that is no JSON"
          : json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, kShown)));
}

// Decodes with a space of this parameter alone, so that only Space::Decode knows which values fit a
// parameter.
Result<double> Coordinate(const Parameter& parameter, const Json& value) {
  Parameter alone = parameter;
  alone.when.clear();
  SLUICE_ASSIGN(const Space space, Space::Make({std::move(alone)}));
  Json object = Json::object();
  object[parameter.name] = value;
  SLUICE_ASSIGN(const Point point,
                space.Decode(object.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return point.front();
}

}  // namespace

Result<double> CoordinateOf(const Parameter& parameter, const Value& value) {
  return Coordinate(parameter, std::visit([](const auto& held) { return Json(held); }, value));
}

Result<PointPart> DecodePart(const Space& space, std::string_view json) {
  SLUICE_ASSIGN(const Json object, ParseObject(json));
  PointPart partial(space.size());
  for (const auto& [name, value] : object.items()) {
    SLUICE_ASSIGN(const std::size_t index, FindParameter(space, name));
    if (value.is_null()) continue;
    SLUICE_ASSIGN(partial[index], Coordinate(space.parameters()[index], value));
  }
  return partial;
}

std::string EncodePart(const Space& space, const PointPart& partial) {
  SLUICE_CHECK(partial.size() == space.size(), "a partial point is of the space it is written in");
  Json object = Json::object();
  for (std::size_t i = 0; i < partial.size(); ++i) {
    if (!partial[i]) continue;
    const Parameter& parameter = space.parameters()[i];
    if (parameter.has_choices()) {
      std::visit([&](const auto& held) { object[parameter.name] = held; },
                 parameter.choices[static_cast<std::size_t>(*partial[i])]);
    } else if (parameter.kind == ParameterKind::kInt) {
      object[parameter.name] = static_cast<std::int64_t>(*partial[i]);
    } else {
      object[parameter.name] = *partial[i];
    }
  }
  return object.dump();
}

Result<NamedValues> DecodeNamedValues(std::string_view json) {
  SLUICE_ASSIGN(const Json object, ParseObject(json));
  NamedValues values;
  for (const auto& [name, value] : object.items()) {
    if (value.is_boolean()) values.emplace_back(name, value.get<bool>());
    if (value.is_string()) values.emplace_back(name, value.get<std::string>());
    if (value.is_number_float()) values.emplace_back(name, value.get<double>());
    if (value.is_number_integer()) values.emplace_back(name, value.get<std::int64_t>());
  }
  return values;
}

}  // namespace sluice
