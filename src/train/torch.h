#pragma once

// What the room needs of PyTorch, compiled once for all of its sources. torch/torch.h would take
// twice as long.
#include <ATen/ATen.h>                      // IWYU pragma: export
#include <ATen/core/dispatch/Dispatcher.h>  // IWYU pragma: export
#include <torch/csrc/autograd/autograd.h>   // IWYU pragma: export
