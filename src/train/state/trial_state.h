#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "recipe/trial_json.h"
#include "train/state/trained_network.h"
#include "train/torch.h"

namespace sluice::train {

// All that one trial has learnt: what it needs to go on, alone or in any bundle. Its tensors are in
// the order of the graph's parameters and have their sizes, without a dimension of trials. They may
// be views of stacked tensors, and may lie on any device.
struct TrialState {
  std::int64_t step = 0;  // how many steps of the optimizer it has taken
  // Defined for each parameter that the trial has of its own: it is trained, or written. Others are
  // the same for all trials and in all steps.
  std::vector<at::Tensor> parameters;
  // Of SGD the momentum; of Adam and AdamW the moving averages of the gradient and of its square.
  // Undefined where the optimizer has none.
  std::vector<at::Tensor> moment1;
  std::vector<at::Tensor> moment2;
};

using recipe::CheckpointNotes;

struct LoadedTrial {
  TrialState state;
  CheckpointNotes notes;
};

// The files of a trial's checkpoint. Other files in the folder are left alone.
//
//   trial.json             the step, the network, the optimizer, how multipliers can be folded
//   model.safetensors      the state dict of the network, tied tensors once, and what else the
//                          trial has of its own (trial.json says what is not in a state dict)
//   optimizer.safetensors  the moments: moment1.NAME, moment2.NAME

// Writes them to a folder that exists. Each file appears whole or not at all, trial.json last.
// Parameters that are not in `state` are those with which every trial begins. Fails with
// unavailable if a file cannot be written.
Status SaveTrial(const std::string& folder, const TrainedNetwork& network, const TrialState& state,
                 const CheckpointNotes& notes);

// Reads them; the tensors are on the CPU. `real` stands for float32, as in InitialTensors: a trial
// may go on at another precision. Fails with not_found if there is no trial.json, with
// invalid_argument if the checkpoint is of another network, with corruption if a file is damaged.
// Messages begin with the path of the file.
Result<LoadedTrial> LoadTrial(const std::string& folder, const TrainedNetwork& network,
                              at::ScalarType real);

}  // namespace sluice::train
