#pragma once

#include <string>

#include "base/result.h"
#include "cli/view/views.h"
#include "ledger/store.h"

namespace sluice {

// Shows a study that runs. Returns when the study has finished or was paused, when no controller
// runs it, or when the user presses Ctrl-C; none of these is a failure. If `study` is
// "", shows the study that was changed last.
Status WatchStudy(const StorePaths& paths, const std::string& study, ViewMode mode);

}  // namespace sluice
