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

  // An error if the name is defined already.
  void Define(CheckedJson& checked, const std::string& name, ValueId value);
  // An error if the name is not defined, or is a number where a tensor is meant, or the other way
  // round.
  std::optional<ValueId> Find(CheckedJson& checked, std::string_view name, bool is_tensor) const;
  // By the member "name" of an object.
  std::optional<ValueId> FindTensor(CheckedJson& checked, const JsonValue& object) const;

 private:
  const Graph& graph_;
  std::map<std::string, ValueId, std::less<>> values_;
};

}  // namespace sluice::model
