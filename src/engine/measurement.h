#pragma once

#include <cstdint>

#include "cluster/speed_model.h"

namespace sluice {

// What a process measured while it trained `situation.fused` trials at once, and where that was.
struct Measurement {
  SpeedSituation situation;
  // Of device memory that the process takes in all, at most what its device has; 0: not measured,
  // or not on a device.
  std::int64_t bytes = 0;
  double work_per_second = 0;  // of each of the trials; 0: not measured
};

}  // namespace sluice
