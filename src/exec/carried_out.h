#pragma once

#include "base/result.h"
#include "engine/study.h"

namespace sluice {

// Fails with failed_precondition if the study asks for something that a simulation can do but the
// executor on real machines cannot do yet. The message names it.
Status CheckCarriedOut(const StudySpec& spec);

}  // namespace sluice
