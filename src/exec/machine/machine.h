#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "exec/study_world.h"

namespace sluice {

// The resources of this machine. Its cores are those that this process may use (affinity, quota of
// the control group). Its GPUs are those that the driver lists (through NVML, if there is a
// driver), without those that CUDA_VISIBLE_DEVICES hides in the world of a study.
struct Machine {
  Node node;
  std::int64_t memory_bytes = 0;
  std::string driver;    // version of the GPU driver; "": there is no driver
  std::string gpu_note;  // why there is no GPU, in plain words
};

Machine InspectMachine(const StudyWorld& world = CaptureWorld());

}  // namespace sluice
