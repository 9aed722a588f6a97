#pragma once

#include <string>

#include "base/result.h"
#include "cli/view/views.h"
#include "ledger/store.h"

namespace sluice {

// Shows a study that another process runs. Returns when the study has finished, when no process
// runs it any more, or when the user presses Ctrl-C; none of the three is a failure. If `study` is
// "", shows the study that was changed last.
Status WatchStudy(const StorePaths& paths, const std::string& study, ViewMode mode);

}  // namespace sluice
