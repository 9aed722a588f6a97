#pragma once

#include "base/time.h"

namespace sluice {

// The time of the wall clock.
Time WallNow();

}  // namespace sluice
