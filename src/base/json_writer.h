#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace sluice {

// Pieces of JSON texts. What is not UTF-8 is replaced, never refused; NaN and the infinities, which
// JSON lacks, are texts.
void AppendJson(std::string& json, double number);
void AppendJson(std::string& json, std::string_view text);

// Writes one object, member by member.
class JsonWriter {
 public:
  template <std::integral Integer>
  JsonWriter& Put(std::string_view name, Integer value) {
    Name(name);
    if constexpr (std::same_as<Integer, bool>) {
      json_ += value ? "true" : "false";
    } else {
      const fmt::format_int digits(value);
      json_.append(digits.data(), digits.size());
    }
    return *this;
  }
  JsonWriter& Put(std::string_view name, double value) {
    Name(name);
    AppendJson(json_, value);
    return *this;
  }
  JsonWriter& Put(std::string_view name, std::string_view text) {
    Name(name);
    AppendJson(json_, text);
    return *this;
  }
  // A value that is JSON already.
  JsonWriter& PutJson(std::string_view name, std::string_view json) {
    Name(name);
    json_ += json;
    return *this;
  }

  std::string Finish() && {
    json_ += '}';
    return std::move(json_);
  }

 private:
  void Name(std::string_view name) {
    if (json_.size() > 1) json_ += ',';
    AppendJson(json_, name);
    json_ += ':';
  }
  std::string json_ = "{";
};

}  // namespace sluice
