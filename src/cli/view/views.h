#pragma once

#include <unistd.h>

#include <memory>

#include "cli/view/view.h"

namespace sluice {

enum class ViewMode {
  kLive,   // a region redrawn in place, on a terminal
  kPlain,  // a line for what is noteworthy, and one every 30 seconds; no escapes
  kQuiet,  // nothing
  kJson,   // an object a line: at most one a second, and one at the end
};

// Live where standard output is a terminal that can do it, else plain.
ViewMode ChooseViewMode(bool quiet, bool plain, bool json);

// Shows a study while this process runs it. Destroying the view shows the last state. Writing
// happens on a thread of its own, so that a terminal that is held (Ctrl-S, a slow line) does not
// hold the study. The terminal is left as it was found at any moment, even if the process is
// killed. `output` stays open.
std::unique_ptr<View> MakeView(ViewMode mode, int output = STDOUT_FILENO);

}  // namespace sluice
