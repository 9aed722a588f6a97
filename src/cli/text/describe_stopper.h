#pragma once

#include <string>

#include "engine/study.h"

namespace sluice {

// What a study's stopper will do, in a line.
std::string DescribeStopper(const StudySpec& spec);

}  // namespace sluice
