#pragma once

#include <cstdint>
#include <string_view>

#include "model/analyse/law.h"
#include "train/torch.h"

namespace sluice::train {

// A tensor drawn by its law, which is not unknown. An element depends on the trial's seed, the
// parameter's name and the element's place alone, so that neither other parameters nor threads nor
// the machine change it. Numbers are made in float64 and rounded to the type. Tables of sines are
// computed by the C library, and may differ between machines in the last bit. Throws c10::Error if
// there is not enough memory.
at::Tensor DrawnByLaw(const model::Law& law, at::IntArrayRef sizes, at::ScalarType type,
                      std::uint64_t trial_seed, std::string_view name);

}  // namespace sluice::train
