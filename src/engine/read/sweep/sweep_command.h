#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace sluice {

// The program of a sweep, as templates: its `command`, by default
//
//   [${env}, ${interpreter}, ${program}, ${args}]
//
// As with W&B, a ${macro} counts as an item of its own; only ${envvar:NAME} may stand anywhere.
// What is wrong (an unknown macro, no `program` where it is wanted) is reported.
std::vector<std::string> ReadSweepCommand(const ConfigMap& sweep);

}  // namespace sluice
