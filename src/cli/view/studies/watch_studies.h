#pragma once

#include "base/result.h"
#include "cli/view/views.h"
#include "ledger/store.h"

namespace sluice {

// Shows all studies that run, also those that come meanwhile. Returns when none runs any more, or
// when the user presses Ctrl-C, which changes no study. If the controller dies, another one is
// started, as by WatchStudy.
Status WatchStudies(const StorePaths& paths, ViewMode mode);

}  // namespace sluice
