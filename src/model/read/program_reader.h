#pragma once

#include <string_view>

#include "base/result.h"
#include "model/graph.h"

namespace sluice::model {

// The program of an archive (models/model.json), as torch.export of PyTorch 2.11 to 2.13 writes it, and the two lists
// of where its tensors lie, by name (model_weights_config.json and model_constants_config.json; the latter may be
// empty). Names of members in `Parameter::storage` are those of the lists. Regions (no_grad, autocast) are
// unfolded into the one list of nodes. Every reference leads to a value that is made before. Fails with corruption
// for what is damaged, with invalid_argument for what should have been exported in another way, or is beyond
// program_limits.h.
Result<Graph> ReadProgram(std::string_view program, std::string_view weights,
                          std::string_view constants);

}  // namespace sluice::model
