#pragma once

#include "base/result.h"
#include "engine/study.h"

namespace sluice {

// Fails with failed_precondition if the study needs an ability that simulations have and the
// executor on real machines does not have yet. The message names the ability.
Status CheckCarriedOut(const StudySpec& spec);

}  // namespace sluice
