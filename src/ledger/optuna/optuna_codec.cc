#include "ledger/optuna/optuna_codec.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestText = std::size_t{1} << 20;
constexpr int kDeepest = 100;

// Turns Python's JSON into standard JSON: bare NaN and Infinity outside of texts get quotes.
// Returns nullopt if it is nested so deeply that parsing it would be dangerous.
std::optional<std::string> Plain(std::string_view python) {
  std::string json;
  json.reserve(python.size() + 16);
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < python.size(); ++i) {
    const char c = python[i];
    if (in_text) {
      json += c;
      if (c == '\\' && i + 1 < python.size()) json += python[++i];
      if (c == '"') in_text = false;
      continue;
    }
    bool quoted = false;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (!python.substr(i).starts_with(word)) continue;
      json += fmt::format("\"{}\"", word);
      i += word.size() - 1;
      quoted = true;
      break;
    }
    if (quoted) continue;
    in_text = c == '"';
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) return std::nullopt;
    json += c;
  }
  return json;
}

std::string ShownJson(std::string_view text) {
  constexpr std::size_t kShown = 80;
  const Json json = std::string(text.substr(0, kShown));
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) +
         (text.size() > kShown ? "..." : "");
}

Result<Json> Parse(std::string_view text, std::size_t longest = kLongestText) {
  if (text.size() > longest) {
    return Corruption(
        fmt::format("expected at most {} MiB of JSON, found {} bytes", longest >> 20, text.size()));
  }
  const auto plain = Plain(text);
  Json json = plain ? Json::parse(*plain, nullptr, /*allow_exceptions=*/false) : Json();
  if (!plain || json.is_discarded())
    return Corruption(fmt::format("expected JSON, found {}", ShownJson(text)));
  return json;
}

std::optional<Value> ValueOf(const Json& json) {
  if (json.is_null()) return Value(std::string("None"));
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX)
    return Value(json.get<double>());
  if (json.is_number_integer()) return Value(json.get<std::int64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_string()) return Value(json.get<std::string>());
  return std::nullopt;
}

Json ToJson(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Result<Parameter> DecodeNumeric(Parameter parameter, const Json& attributes) {
  const auto bad = [&](std::string_view what) {
    return Corruption(fmt::format("{}: {}, found {}", parameter.name, what,
                                  attributes.dump(-1, ' ', true, Json::error_handler_t::replace)));
  };
  const auto number = [&](const char* key) {
    const auto found = attributes.find(key);
    return found != attributes.end() && found->is_number() ? found->get<double>() : NAN;
  };
  parameter.low = number("low");
  parameter.high = number("high");
  if (!std::isfinite(parameter.low) || !std::isfinite(parameter.high) ||
      parameter.low > parameter.high) {
    return bad("expected finite numbers low <= high");
  }
  if (const auto log = attributes.find("log"); log != attributes.end() && log->is_boolean())
    parameter.law = log->get<bool>() ? Law::kLog : Law::kUniform;
  if (const auto step = attributes.find("step"); step != attributes.end() && !step->is_null()) {
    parameter.step = number("step");
    if (!(parameter.step > 0) || !std::isfinite(parameter.step)) return bad("expected a step > 0");
  }
  if (parameter.law == Law::kLog && parameter.low <= 0) return bad("expected low > 0 with log");
  if (parameter.law == Law::kLog) parameter.step = 0;
  if (parameter.kind != ParameterKind::kInt) return parameter;
  for (const double whole : {parameter.low, parameter.high, parameter.step}) {
    if (whole != std::floor(whole) || std::abs(whole) >= 0x1.0p53)
      return bad("expected whole numbers below 2^53");
  }
  if (parameter.step == 1) parameter.step = 0;
  return parameter;
}

Result<Parameter> DecodeChoices(Parameter parameter, const Json& attributes) {
  const auto choices = attributes.find("choices");
  if (choices == attributes.end() || !choices->is_array() || choices->empty())
    return Corruption(fmt::format("{}: expected a list of choices, found none", parameter.name));
  for (const Json& choice : *choices) {
    auto value = ValueOf(choice);
    if (!value) {
      return InvalidArgument(
          fmt::format("{}: expected texts, numbers, true and false as choices, found {}",
                      parameter.name, choice.dump(-1, ' ', true, Json::error_handler_t::replace)));
    }
    parameter.choices.push_back(std::move(*value));
  }
  return parameter;
}

}  // namespace

std::string EncodeDistribution(const Space& space, std::size_t index) {
  const Parameter& parameter = space.parameters()[index];
  if (parameter.has_choices()) {
    Json choices = Json::array();
    for (const Choice& choice : parameter.choices) choices.push_back(ToJson(choice));
    return Json({{"name", "CategoricalDistribution"}, {"attributes", {{"choices", choices}}}})
        .dump();
  }
  const auto count = parameter.Cardinality();
  // Optuna wants a range to end on a step.
  const double high = count ? space.Nth(index, *count - 1) : parameter.high;
  if (parameter.kind == ParameterKind::kInt) {
    return Json({{"name", "IntDistribution"},
                 {"attributes",
                  {{"log", parameter.law == Law::kLog && parameter.step <= 1},
                   {"step", static_cast<std::int64_t>(parameter.step == 0 ? 1 : parameter.step)},
                   {"low", static_cast<std::int64_t>(parameter.low)},
                   {"high", static_cast<std::int64_t>(high)}}}})
        .dump();
  }
  const bool log = parameter.step == 0 && parameter.low > 0 &&
                   (parameter.law == Law::kLog || parameter.law == Law::kLogNormal);
  return Json({{"name", "FloatDistribution"},
               {"attributes",
                {{"step", parameter.step == 0 ? Json() : Json(parameter.step)},
                 {"low", parameter.low},
                 {"high", high},
                 {"log", log}}}})
      .dump();
}

Result<Parameter> DecodeDistribution(const std::string& name, std::string_view text) {
  const auto json = Parse(text);
  if (!json) return Corruption(fmt::format("{}: {}", name, json.error().message));
  const auto kind = json->is_object() ? json->find("name") : json->end();
  const auto attributes = json->is_object() ? json->find("attributes") : json->end();
  if (kind == json->end() || !kind->is_string() || attributes == json->end() ||
      !attributes->is_object()) {
    return Corruption(fmt::format("{}: expected a distribution, found {}", name, ShownJson(text)));
  }
  Parameter parameter;
  parameter.name = name;
  if (*kind == "FloatDistribution") return DecodeNumeric(std::move(parameter), *attributes);
  if (*kind == "IntDistribution") {
    parameter.kind = ParameterKind::kInt;
    return DecodeNumeric(std::move(parameter), *attributes);
  }
  if (*kind == "CategoricalDistribution") {
    parameter.kind = ParameterKind::kCategorical;
    return DecodeChoices(std::move(parameter), *attributes);
  }
  return InvalidArgument(
      fmt::format("{}: expected a float, int or categorical distribution, found {}", name,
                  kind->dump(-1, ' ', true, Json::error_handler_t::replace)));
}

Result<std::map<std::string, Value>> DecodeValues(std::string_view text) {
  SLUICE_ASSIGN(const Json json, Parse(text));
  if (!json.is_object())
    return Corruption(fmt::format("expected an object, found {}", ShownJson(text)));
  std::map<std::string, Value> values;
  for (const auto& [name, member] : json.items()) {
    if (auto value = ValueOf(member)) values.emplace(name, std::move(*value));
  }
  return values;
}

Result<std::vector<std::pair<std::string, std::string>>> DecodeMembers(std::string_view text) {
  constexpr std::size_t kLongest = std::size_t{64} << 20;  // attributes add up over many messages
  SLUICE_ASSIGN(const Json json, Parse(text, kLongest));
  if (!json.is_object())
    return Corruption(fmt::format("expected an object, found {}", ShownJson(text)));
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, member] : json.items()) {
    members.emplace_back(name, member.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return members;
}

Result<std::string> EncodeMembers(const std::vector<std::pair<std::string, std::string>>& members) {
  Json object = Json::object();
  for (const auto& [name, text] : members) {
    SLUICE_ASSIGN(Json json, Parse(text));
    if (!json.is_null()) object[name] = std::move(json);
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string DecodeFirstText(std::string_view text) {
  const auto json = Parse(text);
  if (!json || !json->is_array() || json->empty() || !json->front().is_string()) return "";
  return json->front().get<std::string>();
}

std::string EncodeTexts(const std::vector<std::string>& texts) {
  return Json(texts).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string EncodeValue(const Value& value) {
  return ToJson(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sluice
