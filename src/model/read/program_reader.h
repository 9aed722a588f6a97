#pragma once

#include <string_view>

#include "base/result.h"
#include "model/graph.h"

namespace sluice::model {

// Reads the program of an archive (models/model.json), as torch.export of PyTorch 2.11 to 2.13
// writes it. `weights` and `constants` are two lists that say where the program's tensors lie, by
// name (model_weights_config.json and model_constants_config.json). `constants` may be empty.
// `Parameter::storage` has the name of a member as in the list, after the name of its folder
// ("weights/").
//
// Regions (no_grad, autocast) are unfolded into the one list of nodes. Every node refers only to
// values that were made before it. Fails with corruption if the program is damaged. Fails with
// invalid_argument if the program has to be exported in another way, or exceeds program_limits.h.
Result<Graph> ReadProgram(std::string_view program, std::string_view weights,
                          std::string_view constants);

}  // namespace sluice::model
