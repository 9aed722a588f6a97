#include "model/read/value_names.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sluice::model {

void ValueNames::Define(CheckedJson& checked, const std::string& name, ValueId value) {
  if (!values_.emplace(name, value).second)
    checked.Fail(fmt::format("'{}' is made twice", Shown(name)));
}

std::optional<ValueId> ValueNames::Find(CheckedJson& checked, std::string_view name,
                                        bool is_tensor) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    checked.Fail(fmt::format("'{}' is used, but nothing before makes it", Shown(name)));
    return std::nullopt;
  }
  if ((graph_.value(found->second).kind == Value::Kind::kTensor) != is_tensor) {
    checked.Fail(fmt::format("'{}': expected a {}, found a {}", Shown(name),
                             is_tensor ? "tensor" : "number", is_tensor ? "number" : "tensor"));
    return std::nullopt;
  }
  return found->second;
}

std::optional<ValueId> ValueNames::FindTensor(CheckedJson& checked, const JsonValue& object) const {
  const std::string name = checked.TextOf(object, "name");
  return checked.ok() ? Find(checked, name, /*is_tensor=*/true) : std::nullopt;
}

}  // namespace sluice::model
