#pragma once

#include <string>

#include "engine/study.h"

namespace sluice {

// Says in one line what a study's stopper will do.
std::string DescribeStopper(const StudySpec& spec);

}  // namespace sluice
