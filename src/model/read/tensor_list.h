#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph.h"
#include "model/read/checked_json.h"

namespace sluice::model {

// A tensor that an archive holds.
struct StoredTensor {
  std::vector<std::int64_t> sizes;
  DType dtype = DType::kFloat32;
  bool trainable = false;
  Storage storage;
};

using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;  // by name

// Adds those of one of an archive's lists (model_weights_config.json, model_constants_config.json), whose members lie in
// a folder ("weights/"). `what` is the list, for messages.
void ReadTensorList(CheckedJson& checked, const JsonValue& list, std::string_view what,
                    std::string_view folder, StoredTensors& tensors);

}  // namespace sluice::model
