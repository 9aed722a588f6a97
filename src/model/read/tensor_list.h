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

// Adds the tensors of one list of an archive (model_weights_config.json or
// model_constants_config.json). Their members lie in `folder` ("weights/"). `what` names the list
// in messages.
void ReadTensorList(CheckedJson& checked, const JsonValue& list, std::string_view what,
                    std::string_view folder, StoredTensors& tensors);

}  // namespace sluice::model
