#pragma once

#include <cstdint>

#include "cluster/speed_model.h"

namespace sluice {

// What a process measured while it trained `situation.fused` trials at once, and where that was.
struct Measurement {
  SpeedSituation situation;
  // The device memory that the process takes in all, capped at what its device has; 0: not
  // measured, or the process uses no device.
  std::int64_t bytes = 0;
  double work_per_second = 0;  // the speed of each of the trials; 0: not measured
};

}  // namespace sluice
