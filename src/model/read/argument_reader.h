#pragma once

#include <optional>
#include <vector>

#include "model/graph.h"
#include "model/read/checked_json.h"
#include "model/read/value_names.h"

namespace sluice::model {

// Reads an argument of a node.
ArgumentValue ReadArgument(CheckedJson& checked, const JsonValue& json, const ValueNames& names);

// Reads one entry of a graph's list of outputs, and returns the values it refers to. Their names
// must already be in `names`. An entry that is constant gives one empty value.
std::vector<std::optional<ValueId>> ReadResult(CheckedJson& checked, const JsonValue& json,
                                               const ValueNames& names);

// Whether an argument of this kind is a symbolic number: either a computed value or a known number.
bool IsSymbolic(std::string_view kind);

}  // namespace sluice::model
