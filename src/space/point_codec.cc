#include "space/point_codec.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/check.h"
#include "base/text.h"
#include "space/space.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

// The JSON as a text for messages. Bad UTF-8 from a user is replaced, so that nothing throws.
std::string Show(const Json& json) {
  constexpr std::size_t kLongest = 80;
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::string Expected(const Parameter& parameter) {
  if (parameter.has_choices()) {
    std::vector<std::string> texts;
    for (const Choice& choice : parameter.choices) texts.push_back(FormatValue(choice));
    return "one of " + Join(texts);
  }
  const bool is_int = parameter.kind == ParameterKind::kInt;
  std::string text = fmt::format("{} in [{}, {}]", is_int ? "a whole number" : "a number",
                                 parameter.low, parameter.high);
  if (parameter.step != 0) text += fmt::format(" in steps of {}", parameter.step);
  return text;
}

// 1 and 1.0 are the same number to most programs that write JSON.
bool Matches(const Choice& choice, const Json& json) {
  return std::visit(
      [&](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, bool>) {
          return json.is_boolean() && json.get<bool>() == held;
        } else if constexpr (std::is_same_v<T, std::string>) {
          return json.is_string() && json.get_ref<const std::string&>() == held;
        } else {
          return json.is_number() && json == Json(held);
        }
      },
      choice);
}

// The value as a Point holds it. NaN if it is not a value of the parameter.
double DecodeValue(const Space& space, std::size_t index, const Json& json) {
  constexpr double kOutside = std::numeric_limits<double>::quiet_NaN();
  const Parameter& parameter = space.parameters()[index];
  if (parameter.has_choices()) {
    for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
      if (Matches(parameter.choices[i], json)) return static_cast<double>(i);
    }
    return kOutside;
  }
  if (!json.is_number()) return kOutside;
  const auto value = json.get<double>();
  if (!(parameter.low <= value && value <= parameter.high)) {
    // Rounding may carry the last step past the range: that is checked below.
    if (parameter.kind == ParameterKind::kInt || parameter.step == 0) return kOutside;
  }
  const std::optional<std::uint64_t> count = parameter.Cardinality();
  if (!count) return value;
  const double step = parameter.step == 0 ? 1 : parameter.step;
  const double number = std::round((value - parameter.low) / step);
  if (!(number >= 0 && number < static_cast<double>(*count))) return kOutside;
  const double on_step = space.Nth(index, static_cast<std::uint64_t>(number));
  const double slack = parameter.kind == ParameterKind::kInt ? 0 : 1e-9 * step;
  return std::abs(on_step - value) <= slack ? on_step : kOutside;
}

}  // namespace

bool JsonCanHold(std::string_view text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

std::string Space::Encode(const Point& point) const {
  Json object = Json::object();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (std::isnan(point[i])) continue;  // not active
    std::visit([&](const auto& held) { object[parameters_[i].name] = held; }, ValueAt(point, i));
  }
  return object.dump();
}

Result<Point> Space::Decode(std::string_view json) const {
  const Json object = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return InvalidArgument(
        fmt::format("expected parameters as a JSON object, found {}",
                    object.is_discarded() ? "text that is no JSON" : Show(object)));
  }
  Point point(parameters_.size());
  std::size_t used = 0;
  for (const std::size_t i : order_) {
    const Parameter& parameter = parameters_[i];
    const auto found = object.find(parameter.name);
    if (!IsActive(point, i)) {
      point[i] = std::numeric_limits<double>::quiet_NaN();
      if (found == object.end()) continue;
      return InvalidArgument(fmt::format(
          "{0}: expected no value, found {1}; leave it out, since {0} is active only when {2}",
          parameter.name, Show(*found), Shown(parameter.when)));
    }
    if (found == object.end()) {
      return InvalidArgument(
          fmt::format("{}: expected {}, found no value", parameter.name, Expected(parameter)));
    }
    point[i] = DecodeValue(*this, i, *found);
    if (std::isnan(point[i])) {
      return InvalidArgument(fmt::format("{}: expected {}, found {}", parameter.name,
                                         Expected(parameter), Show(*found)));
    }
    ++used;
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (Satisfies(point, rules_[i])) continue;
    return InvalidArgument(fmt::format("constraints: expected {} to hold, found {}",
                                       Shown(constraints_[i]), Show(object)));
  }
  if (object.size() == used) return point;
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters_) names.push_back(parameter.name);
  for (const auto& [name, value] : object.items()) {
    if (Find(name)) continue;
    return InvalidArgument(fmt::format("{}: no parameter of the study has this name{}", name,
                                       DidYouMean(name, names)));
  }
  SLUICE_CHECK(false, "every name of the object was either used, refused, or is not in the space");
}

}  // namespace sluice
