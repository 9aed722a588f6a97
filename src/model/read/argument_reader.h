#pragma once

#include <optional>
#include <vector>

#include "model/graph.h"
#include "model/read/checked_json.h"
#include "model/read/value_names.h"

namespace sluice::model {

// An argument of a node.
ArgumentValue ReadArgument(CheckedJson& checked, const JsonValue& json, const ValueNames& names);

// An output of a graph: values that are there already, nothing for what is always the same.
std::vector<std::optional<ValueId>> ReadResult(CheckedJson& checked, const JsonValue& json,
                                               const ValueNames& names);

// A number of these kinds is computed, or is known.
bool IsSymbolic(std::string_view kind);

}  // namespace sluice::model
