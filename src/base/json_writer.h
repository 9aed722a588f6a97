#pragma once

#include <fmt/format.h>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace sluice {

// Appends a value to a JSON text, without line breaks. Bytes that are not UTF-8 are replaced. NaN
// and the infinities, which JSON lacks, are written as texts.
void AppendJson(std::string& json, double number);
void AppendJson(std::string& json, std::string_view text);

// The same JSON in the layout of our writers. `json` must be valid JSON.
std::string RewrittenJson(std::string_view json);

// A list, made by calling `append(json, item)` for each item.
template <typename Items, typename Append>
std::string JsonList(const Items& items, Append append) {
  std::string json = "[";
  for (const auto& item : items) {
    if (json.size() > 1) json += ',';
    append(json, item);
  }
  return json + ']';
}

// Writes one object, member by member.
class JsonWriter {
 public:
  template <std::integral Integer>
  JsonWriter& Add(std::string_view name, Integer value) {
    if constexpr (std::same_as<Integer, bool>) {
      return AddJson(name, value ? "true" : "false");
    } else {
      const fmt::format_int digits(value);
      return AddJson(name, {digits.data(), digits.size()});
    }
  }
  JsonWriter& Add(std::string_view name, double value);
  JsonWriter& Add(std::string_view name, std::string_view text);
  // A text, or null.
  JsonWriter& AddOptional(std::string_view name, const std::optional<std::string>& text);
  // A time in UTC; null for kNever and for a time that is not set.
  JsonWriter& AddTime(std::string_view name, Time time);
  // A value that is JSON already.
  JsonWriter& AddJson(std::string_view name, std::string_view json);

  std::string Take() { return std::move(json_) + '}'; }

 private:
  void Name(std::string_view name);
  std::string json_ = "{";
};

}  // namespace sluice
