#include "model/read/value_names.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sluice::model {

void ValueNames::Define(JsonEye& eye, const std::string& name, ValueId value) {
  if (!values_.emplace(name, value).second)
    eye.Wrong(fmt::format("'{}' is made twice", Shown(name)));
}

std::optional<ValueId> ValueNames::Find(JsonEye& eye, std::string_view name, bool is_tensor) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    eye.Wrong(fmt::format("'{}' is used, but nothing before makes it", Shown(name)));
    return std::nullopt;
  }
  if ((graph_.value(found->second).kind == Value::Kind::kTensor) != is_tensor) {
    eye.Wrong(fmt::format("'{}': expected a {}, found a {}", Shown(name),
                          is_tensor ? "tensor" : "number", is_tensor ? "number" : "tensor"));
    return std::nullopt;
  }
  return found->second;
}

std::optional<ValueId> ValueNames::FindTensor(JsonEye& eye, const JsonValue& object) const {
  const std::string name = eye.TextOf(object, "name");
  return eye.ok() ? Find(eye, name, /*is_tensor=*/true) : std::nullopt;
}

}  // namespace sluice::model
