#pragma once

#include <string>

#include "base/result.h"
#include "cli/verbs/verb.h"
#include "exec/session.h"

namespace sluice {

// Prints how a run of a study ended, and returns the exit status. Called after the controller has
// released the store.
Result<int> SummarizeRun(const Context& context, const std::string& study, RunEnd end);

}  // namespace sluice
