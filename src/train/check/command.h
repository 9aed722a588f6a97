#pragma once

#include <span>

namespace sluice::train {

// `sluice-trainer check`, with the words after it. Returns the exit status: 0 if the network is
// trained here as PyTorch trains it, 1 if not or if it cannot be opened, 2 for wrong usage.
int RunCheck(std::span<char*> words);

}  // namespace sluice::train
