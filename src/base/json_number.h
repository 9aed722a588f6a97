#pragma once

#include <cmath>
#include <limits>
#include <string>

namespace sluice {

// Numbers at the edges where JSON is read or written: NaN and the infinities, which JSON lacks, are
// texts.

template <typename Json>
Json NumberToJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// Throws the library's type error, like get<double>(), for anything that is no number.
template <typename Json>
double NumberFromJson(const Json& json) {
  if (json.is_string()) {
    const auto& text = json.template get_ref<const std::string&>();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return json.template get<double>();
}

}  // namespace sluice
