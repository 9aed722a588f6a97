#pragma once

#include <cstdint>

#include "base/result.h"
#include "train/torch.h"

namespace sluice::train {

// Sizes come from files that may hold any number. A tensor that is larger than the machine's memory
// is refused where it is made, before memory is asked for: where the kernel promises more memory
// than there is, the process would be killed while it fills the tensor.

// What this process may have at most: the memory of the machine, or less in a container.
std::uint64_t MemoryBytes();

// From here on PyTorch refuses to make such a tensor on the CPU. To be called once, before others
// make tensors.
void BoundTensors();

// Whether there was too little memory, and memory that others free could help: not if it is more
// than the machine has.
bool IsScarce(const Error& error);

// From here on this process gets no more memory than is free now: it is refused what it asks for
// beyond, and does with less. The kernel would promise it, and kill a process later.
void LimitMemory();

// Fails so with a view that shows so many elements, such as one that was expanded: it takes no
// memory, but whatever reads it would not end. What is thrown is a c10::OutOfMemoryError.
void CheckBound(const at::Tensor& tensor);

}  // namespace sluice::train
