#include "model/read/checked_json.h"

#include <fmt/format.h>

#include <utility>

namespace sluice::model {
namespace {

std::string_view KindName(const JsonValue& value) {
  using Kind = JsonValue::Kind;
  switch (value.kind()) {
    case Kind::kNull: return "null";
    case Kind::kBoolean: return "a boolean";
    case Kind::kInteger: return "an integer";
    case Kind::kUnsigned: return value.Integer() ? "an integer" : "one that is too large";
    case Kind::kReal: return "a number";
    case Kind::kText: return "a text";
    case Kind::kList: return "a list";
    case Kind::kObject: return "an object";
  }
  return "";
}

}  // namespace

void CheckedJson::Remember(ErrorCode code, std::string_view message) {
  if (ok()) error_ = {.code = code, .message = fmt::format("{}: {}", where_, message)};
}

template <typename T>
T CheckedJson::Or(const JsonValue& value, std::optional<T> read, std::string_view what,
                  std::string_view expected) {
  if (read) return *std::move(read);
  Fail(fmt::format("{}: expected {}, found {}", what, expected, KindName(value)));
  return T();
}

std::optional<JsonValue> CheckedJson::Member(const JsonValue& object, std::string_view name) {
  auto found = object.Find(name);
  if (!found) Fail(fmt::format("expected a member '{}', found none", name));
  return found;
}

std::int64_t CheckedJson::Integer(const JsonValue& value, std::string_view what) {
  return Or(value, value.Integer(), what, "an integer");
}

std::int64_t CheckedJson::IntegerOf(const JsonValue& object, std::string_view name) {
  const auto found = Member(object, name);
  return found ? Integer(*found, name) : 0;
}

double CheckedJson::Number(const JsonValue& value, std::string_view what) {
  return Or(value, value.Number(), what, "a number");
}

bool CheckedJson::Boolean(const JsonValue& value, std::string_view what) {
  return Or(value, value.Boolean(), what, "true or false");
}

bool CheckedJson::BooleanOf(const JsonValue& object, std::string_view name) {
  const auto found = Member(object, name);
  return found && Boolean(*found, name);
}

std::string CheckedJson::Text(const JsonValue& value, std::string_view what) {
  return std::string(Or(value, value.Text(), what, "a text"));
}

std::string CheckedJson::TextOf(const JsonValue& object, std::string_view name) {
  const auto found = Member(object, name);
  return found ? Text(*found, name) : "";
}

std::vector<JsonValue> CheckedJson::List(const JsonValue& value, std::string_view what) {
  return Or(value, value.List(), what, "a list");
}

std::vector<JsonValue> CheckedJson::ListOf(const JsonValue& object, std::string_view name) {
  const auto found = Member(object, name);
  return found ? List(*found, name) : std::vector<JsonValue>();
}

std::vector<JsonValue::Member> CheckedJson::MembersOf(const JsonValue& object,
                                                      std::string_view name) {
  const auto found = Member(object, name);
  if (!found) return {};
  return Or(*found, found->Members(), name, "an object");
}

std::optional<JsonValue::Member> CheckedJson::Union(const JsonValue& value, std::string_view what) {
  const auto members = value.Members();
  if (members && members->size() == 1) return members->front();
  Fail(fmt::format("{}: expected an object with one member, found {}", what,
                   members ? fmt::format("{} members", members->size()) : KindName(value)));
  return std::nullopt;
}

}  // namespace sluice::model
