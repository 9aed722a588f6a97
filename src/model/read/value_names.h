#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/graph.h"
#include "model/read/checked_json.h"

namespace sluice::model {

// What the names of one graph lead to. A graph within another has names of its own.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph) : graph_(graph) {}

  // Wrong for one that is there already.
  void Define(CheckedJson& checked, const std::string& name, ValueId value);
  // Wrong for one that is not there, or leads to a number where a tensor is meant, or the other way round.
  std::optional<ValueId> Find(CheckedJson& checked, std::string_view name, bool is_tensor) const;
  // By the text that an object has as "name".
  std::optional<ValueId> FindTensor(CheckedJson& checked, const JsonValue& object) const;

 private:
  const Graph& graph_;
  std::map<std::string, ValueId, std::less<>> values_;
};

}  // namespace sluice::model
