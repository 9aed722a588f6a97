#include "exec/wall_clock.h"

#include <chrono>

namespace sluice {

Time WallNow() {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

}  // namespace sluice
