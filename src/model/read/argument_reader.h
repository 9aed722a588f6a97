#pragma once

#include <optional>
#include <vector>

#include "model/graph.h"
#include "model/read/checked_json.h"
#include "model/read/value_names.h"

namespace sluice::model {

// An argument of a node.
ArgumentValue ReadArgument(CheckedJson& checked, const JsonValue& json, const ValueNames& names);

// The values of an output of a graph, which exist already; an empty one for an output that is
// always the same.
std::vector<std::optional<ValueId>> ReadResult(CheckedJson& checked, const JsonValue& json,
                                               const ValueNames& names);

// Whether the kind is that of a number that is computed or known.
bool IsSymbolic(std::string_view kind);

}  // namespace sluice::model
