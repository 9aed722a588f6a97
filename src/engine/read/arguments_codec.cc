#include "engine/read/arguments_codec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

std::string PlainText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump();
}

std::string PythonNumber(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string PythonQuoted(std::string_view text) {
  const bool doubled =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = doubled ? '"' : '\'';
  std::string quoted(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + quote;
}

// The value as Python's str() shows it. Values inside lists and maps are as Python's repr() shows
// them.
std::string PythonText(const Json& value, bool inside = false) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number_float()) return PythonNumber(value.get<double>());
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return inside ? PythonQuoted(text) : text;
  }
  if (!value.is_structured()) return value.dump();
  std::vector<std::string> parts;
  for (const auto& [key, item] : value.items()) {
    const std::string text = PythonText(item, /*inside=*/true);
    parts.push_back(value.is_object() ? fmt::format("{}: {}", PythonQuoted(key), text) : text);
  }
  return value.is_object() ? fmt::format("{{{}}}", fmt::join(parts, ", "))
                           : fmt::format("[{}]", fmt::join(parts, ", "));
}

void AddTo(TemplateLists& lists, const std::string& name, const Json& value,
           const std::string& text) {
  const std::string flag = fmt::format("--{}={}", name, text);
  lists["args"].push_back(flag);
  lists["args_no_hyphens"].push_back(fmt::format("{}={}", name, text));
  auto& apart = lists["args_no_equals"];
  apart.insert(apart.end(), {"--" + name, text});
  if (!value.is_boolean()) {
    lists["args_no_boolean_flags"].push_back(flag);
  } else if (value.get<bool>()) {
    lists["args_no_boolean_flags"].push_back("--" + name);
  }
}

}  // namespace

Arguments ArgumentsOf(const StudySpec& spec, const Point& point) {
  Arguments arguments;
  Json object = Json::object();
  const Json parameters = Json::parse(spec.space.Encode(point));
  for (const auto& [name, encoded] : parameters.items()) {
    Json value = encoded;
    Json* place = &object;
    if (spec.sweep) {
      if (spec.sweep->structured.contains(name))
        value = Json::parse(encoded.get_ref<const std::string&>());
      if (const auto path = spec.sweep->paths.find(name); path != spec.sweep->paths.end()) {
        for (const std::string& key : path->second) place = &(*place)[key];
      } else {
        place = &object[name];
      }
    } else {
      place = &object[name];
    }
    const std::string text = spec.sweep ? PythonText(value) : PlainText(value);
    arguments.values[name] = text;
    AddTo(arguments.lists, name, value, text);
    *place = std::move(value);
  }
  arguments.json = object.dump();
  arguments.values["args_json"] = arguments.json;
  return arguments;
}

std::string ChoiceJson(const Choice& choice) {
  return std::visit(
      [](const auto& held) {
        return Json(held).dump(-1, ' ', false, Json::error_handler_t::replace);
      },
      choice);
}

}  // namespace sluice
