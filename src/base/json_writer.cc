#include "base/json_writer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void AppendJson(std::string& json, double number) {
  if (std::isnan(number)) {
    json += "\"NaN\"";
  } else if (std::isinf(number)) {
    json += number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    json += Json(number).dump();
  }
}

void AppendJson(std::string& json, std::string_view text) {
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
  if (!plain) {
    json += Dump(Json(text));
    return;
  }
  json += '"';
  json += text;
  json += '"';
}

std::string RewrittenJson(std::string_view json) { return Dump(Json::parse(json)); }

JsonWriter& JsonWriter::Add(std::string_view name, double value) {
  Name(name);
  AppendJson(json_, value);
  return *this;
}

JsonWriter& JsonWriter::Add(std::string_view name, std::string_view text) {
  Name(name);
  AppendJson(json_, text);
  return *this;
}

JsonWriter& JsonWriter::AddOptional(std::string_view name, const std::optional<std::string>& text) {
  return text ? Add(name, std::string_view(*text)) : AddJson(name, "null");
}

JsonWriter& JsonWriter::AddTime(std::string_view name, Time time) {
  if (time == Time{} || time == kNever) return AddJson(name, "null");
  return Add(name, std::string_view(FormatPreciseTime(time)));
}

JsonWriter& JsonWriter::AddJson(std::string_view name, std::string_view json) {
  Name(name);
  json_ += json;
  return *this;
}

void JsonWriter::Name(std::string_view name) {
  if (json_.size() > 1) json_ += ',';
  AppendJson(json_, name);
  json_ += ':';
}

}  // namespace sluice
