#include "base/json_writer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace sluice {

using Json = nlohmann::json;

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
    json += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  json += '"';
  json += text;
  json += '"';
}

}  // namespace sluice
