#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace sluice {

// Returns the program of a sweep, as templates. The program is the sweep's `command`, by default
//
//   [${env}, ${interpreter}, ${program}, ${args}]
//
// As with W&B, a ${macro} is replaced only where it is a whole item. Only ${envvar:NAME} is
// replaced anywhere in an item. Mistakes, such as an unknown macro or a missing `program`, are
// reported.
std::vector<std::string> ReadSweepCommand(const ConfigMap& sweep);

}  // namespace sluice
