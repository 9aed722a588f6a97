#pragma once

#include "base/result.h"
#include "engine/study.h"

namespace sluice {

// What a study may ask for, and a simulation does, that the executor on real machines does not do yet:
// failed_precondition, naming it.
Status CheckCarriedOut(const StudySpec& spec);

}  // namespace sluice
