#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "base/result.h"

namespace sluice::model {

// Reads JSON, and remembers the first error with its place. After an error, callers must not use
// what the methods return. `what` and `name` say in messages what was read.
class CheckedJson {
 public:
  bool ok() const { return !error_.has_value(); }
  // The first error; there must be one.
  std::unexpected<Error> Failure() const { return std::unexpected(*error_); }

  // Sets the place that messages name.
  void Look(std::string where) { where_ = std::move(where); }
  const std::string& where() const { return where_; }
  // Reports that the file is damaged.
  void Fail(std::string_view message) { Remember(ErrorCode::kCorruption, message); }
  // Reports that the file cannot be used here, although it may be undamaged.
  void Unsupported(std::string_view message) { Remember(ErrorCode::kInvalidArgument, message); }

  std::optional<JsonValue> Member(const JsonValue& object, std::string_view name);
  std::int64_t Integer(const JsonValue& value, std::string_view what);
  std::int64_t IntegerOf(const JsonValue& object, std::string_view name);
  // Accepts infinities and NaN as texts: JSON has no such numbers.
  double Number(const JsonValue& value, std::string_view what);
  bool Boolean(const JsonValue& value, std::string_view what);
  bool BooleanOf(const JsonValue& object, std::string_view name);
  std::string Text(const JsonValue& value, std::string_view what);
  std::string TextOf(const JsonValue& object, std::string_view name);
  std::vector<JsonValue> List(const JsonValue& value, std::string_view what);
  std::vector<JsonValue> ListOf(const JsonValue& object, std::string_view name);
  std::vector<JsonValue::Member> MembersOf(const JsonValue& object, std::string_view name);
  // An object with one member; the name of the member tells the kind of its value.
  std::optional<JsonValue::Member> Union(const JsonValue& value, std::string_view what);

 private:
  void Remember(ErrorCode code, std::string_view message);
  template <typename T>
  T Or(const JsonValue& value, std::optional<T> read, std::string_view what,
       std::string_view expected);

  std::string where_;
  std::optional<Error> error_;
};

}  // namespace sluice::model
