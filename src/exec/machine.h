#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace sluice {

// What this machine offers. Processor cores are those this process may use (affinity, cgroup
// quota); GPUs are those of the driver's own list (NVML, loaded if there is one), less those
// CUDA_VISIBLE_DEVICES hides.
struct Machine {
  Node node;
  std::int64_t memory_bytes = 0;
  std::string driver;    // "" without one
  std::string gpu_note;  // why there is no GPU, in plain words
};

Machine InspectMachine();

}  // namespace sluice
