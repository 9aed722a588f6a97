#pragma once

#include <string_view>
#include <vector>

#include "model/graph.h"
#include "model/read/checked_json.h"

namespace sluice::model {

// What a program says about a tensor: its type and its sizes. Some sizes may depend on inputs.
struct TensorMeta {
  DType dtype = DType::kFloat32;
  std::vector<Size> sizes;
};

TensorMeta ReadTensorMeta(CheckedJson& checked, const JsonValue& json);

DType ReadDType(CheckedJson& checked, const JsonValue& json, std::string_view what);

}  // namespace sluice::model
