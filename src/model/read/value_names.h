#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/graph.h"
#include "model/read/checked_json.h"

namespace sluice::model {

// The values that the names of one graph stand for. A graph within another has names of its own.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph) : graph_(graph) {}

  // Reports an error to `checked` if the name is defined already.
  void Define(CheckedJson& checked, const std::string& name, ValueId value);
  // The value with this name, which has to be a tensor or a number as `is_tensor` says. Empty, with
  // an error in `checked`, if the name is not defined or the value is of the other kind.
  std::optional<ValueId> Find(CheckedJson& checked, std::string_view name, bool is_tensor) const;
  // Finds the tensor that the member "name" of an object names.
  std::optional<ValueId> FindTensor(CheckedJson& checked, const JsonValue& object) const;

 private:
  const Graph& graph_;
  std::map<std::string, ValueId, std::less<>> values_;
};

}  // namespace sluice::model
