#pragma once

#include <string>

#include "base/random.h"

namespace sluice {

// A study file, drawn so that all samplers, stoppers and most options come up.
std::string DrawStudy(Random drawn);

}  // namespace sluice
