#pragma once

#include <string>

#include "base/random.h"
#include "rig/fault_plan.h"

namespace sluice {

// A study file, drawn so that all samplers, stoppers and most options come up. With `bundles`, it
// is a smaller study whose trials are fused.
std::string DrawStudy(Random drawn, bool bundles, Theme theme);

}  // namespace sluice
