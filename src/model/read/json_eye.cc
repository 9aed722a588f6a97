#include "model/read/json_eye.h"

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

void JsonEye::Remember(ErrorCode code, std::string_view message) {
  if (ok()) error_ = {.code = code, .message = fmt::format("{}: {}", where_, message)};
}

template <typename T>
T JsonEye::Or(const JsonValue& value, std::optional<T> read, std::string_view what,
              std::string_view expected) {
  if (read) return *std::move(read);
  Wrong(fmt::format("{}: expected {}, found {}", what, expected, KindName(value)));
  return T();
}

std::optional<JsonValue> JsonEye::Member(const JsonValue& object, std::string_view name) {
  auto found = object.Find(name);
  if (!found) Wrong(fmt::format("expected a member '{}', found none", name));
  return found;
}

std::int64_t JsonEye::Integer(const JsonValue& value, std::string_view what) {
  return Or(value, value.Integer(), what, "an integer");
}

std::int64_t JsonEye::IntegerOf(const JsonValue& object, std::string_view name) {
  const auto found = Member(object, name);
  return found ? Integer(*found, name) : 0;
}

double JsonEye::Number(const JsonValue& value, std::string_view what) {
  return Or(value, value.Number(), what, "a number");
}

bool JsonEye::Boolean(const JsonValue& value, std::string_view what) {
  return Or(value, value.Boolean(), what, "true or false");
}

bool JsonEye::BooleanOf(const JsonValue& object, std::string_view name) {
  const auto found = Member(object, name);
  return found && Boolean(*found, name);
}

std::string JsonEye::Text(const JsonValue& value, std::string_view what) {
  return std::string(Or(value, value.Text(), what, "a text"));
}

std::string JsonEye::TextOf(const JsonValue& object, std::string_view name) {
  const auto found = Member(object, name);
  return found ? Text(*found, name) : "";
}

std::vector<JsonValue> JsonEye::List(const JsonValue& value, std::string_view what) {
  return Or(value, value.List(), what, "a list");
}

std::vector<JsonValue> JsonEye::ListOf(const JsonValue& object, std::string_view name) {
  const auto found = Member(object, name);
  return found ? List(*found, name) : std::vector<JsonValue>();
}

std::vector<JsonValue::Member> JsonEye::MembersOf(const JsonValue& object, std::string_view name) {
  const auto found = Member(object, name);
  if (!found) return {};
  return Or(*found, found->Members(), name, "an object");
}

std::optional<JsonValue::Member> JsonEye::Union(const JsonValue& value, std::string_view what) {
  const auto members = value.Members();
  if (members && members->size() == 1) return members->front();
  Wrong(fmt::format("{}: expected an object with one member, found {}", what,
                    members ? fmt::format("{} members", members->size()) : KindName(value)));
  return std::nullopt;
}

}  // namespace sluice::model
