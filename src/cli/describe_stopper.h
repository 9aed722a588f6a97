#pragma once

#include <string>
#include <vector>

#include "engine/study.h"

namespace sluice {

// What a study's stopper will do, in a line.
std::string DescribeStopper(const StudySpec& spec);

// The rungs at which it judges trials, rising; none for a stopper without rungs.
std::vector<Work> JudgedAt(const StopperSpec& stopper);

}  // namespace sluice
