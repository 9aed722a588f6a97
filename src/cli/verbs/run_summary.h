#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/verbs/verb.h"
#include "exec/session/session.h"

namespace sluice {

// How a run is shown.
struct RunView {
  bool quiet = false;
  bool plain = false;
  bool detach = false;  // not at all
};

// Hands a study over, shows it until the controller has let go of it, and prints how that ended.
// Returns the exit status.
Result<int> ShowRun(const Context& context, const std::string& study, const RunView& how,
                    const std::function<Result<Link>(const Say&)>& hand_over);

}  // namespace sluice
