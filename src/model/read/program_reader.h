#pragma once

#include <string_view>

#include "base/result.h"
#include "model/graph.h"

namespace sluice::model {

// Reads the program of an archive (models/model.json), as torch.export of PyTorch 2.11 to 2.13
// writes it. `weights` and `constants` are the two lists of where its tensors lie, by name
// (model_weights_config.json and model_constants_config.json). `constants` may be empty.
// `Parameter::storage` has the names of members as in the lists, behind their folder ("weights/").
//
// Regions (no_grad, autocast) are unfolded into the one list of nodes. Every reference is to a
// value that was made before. Fails with corruption if the program is damaged. Fails with
// invalid_argument if it should have been exported in another way, or exceeds program_limits.h.
Result<Graph> ReadProgram(std::string_view program, std::string_view weights,
                          std::string_view constants);

}  // namespace sluice::model
