#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/graph.h"
#include "train/step.h"

namespace sluice::train {

// How a step without a rule runs for several trials.
struct TrialChoice {
  bool vmap = false;
  std::string why;  // if it is a loop: "vmap ..."
};

// Numbers in the sizes of a value, the same for each seed: stacked if trials differ in it. It is
// undefined if the sizes are unknown, or too large to be tried.
Value RandomOperand(const model::Value& value, bool stacked, std::uint32_t seed);

// Chooses vmap where it computes what the loop does: outputs and gradients in double precision, on
// the operands that `example_of` gives for the registers of the step.
TrialChoice ChooseForTrials(const Step& step, std::size_t registers,
                            const std::function<Value(Register)>& example_of);

}  // namespace sluice::train
