#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph.h"
#include "model/read/checked_json.h"
#include "model/read/value_names.h"

namespace sluice::model {

// What a graph of a program says about its tensors, by name.
using TensorMetas = std::map<std::string_view, JsonValue>;

TensorMetas ReadTensorMetas(CheckedJson& checked, const JsonValue& graph);

// Adds values and nodes to a graph. Regions are unfolded: their nodes are added to the one list of
// nodes, and refer to the region.
class GraphReader {
 public:
  GraphReader(CheckedJson& checked, Graph& graph) : checked_(checked), graph_(graph) {}

  // Returns the added value. If `checked` has an error afterwards, the result must not be used.
  ValueId AddTensor(const std::string& name, const TensorMetas& metas, ValueNames& names);
  void ReadNodes(const JsonValue& graph, const TensorMetas& metas, ValueNames& names);

 private:
  using Values = std::vector<std::optional<ValueId>>;

  ValueId Add(Value value);
  void ReadNode(const JsonValue& json, const TensorMetas& metas, ValueNames& names);
  void ReadArguments(const JsonValue& json, const ValueNames& names, Node& node);
  // Adds the values of one output of a node, and returns them.
  Values ReadMade(const JsonValue& output, const TensorMetas& metas, ValueNames& names,
                  bool& is_list);
  void Unfold(const JsonValue& json, std::string_view op, ValueNames& names);
  void BindOperands(const JsonValue& body, std::span<const JsonValue> operands,
                    const ValueNames& outer, ValueNames& inner);
  // Gives the results of a region the names that the region's node has for them.
  void NameResults(const JsonValue& json, const JsonValue& body, const ValueNames& inner,
                   ValueNames& names);
  void CollectNames(const JsonValue& output, std::vector<std::string>& called);

  CheckedJson& checked_;
  Graph& graph_;
  // All names of values, each with the number of names that were derived from it. Names are derived
  // because two regions may use the same name.
  std::map<std::string, std::uint32_t> taken_;
  std::optional<std::uint32_t> region_;
  int depth_ = 0;  // of regions
};

}  // namespace sluice::model
