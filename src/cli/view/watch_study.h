#pragma once

#include <string>

#include "base/result.h"
#include "cli/view/views.h"
#include "ledger/store.h"

namespace sluice {

// Shows a study that another process runs, until the study is finished, no process runs it any
// more, or the user presses Ctrl-C. All three are success. Without a name, shows the study changed
// last.
Status WatchStudy(const StorePaths& paths, const std::string& study, ViewMode mode);

}  // namespace sluice
