#pragma once

#include <unistd.h>

#include <memory>

#include "cli/view/view.h"

namespace sluice {

enum class ViewMode {
  kLive,   // a region of the terminal that is redrawn in place
  kPlain,  // a line for each trial that ends, each new best value, and every 30 seconds
  kQuiet,  // nothing
  kJson,   // one JSON object per line: at most one per second, and one at the end
};

// Without a flag: live if standard output is a terminal that can redraw lines, else plain.
ViewMode ChooseViewMode(bool quiet, bool plain, bool json);

// Makes a view that writes to `output`. Destroying the view shows the last state. Writing happens
// on a thread of its own, so a terminal that is stopped (Ctrl-S) or slow does not delay the study.
// The view never leaves the terminal in a changed mode, even if the process is killed. `output`
// stays open.
std::unique_ptr<View> MakeView(ViewMode mode, int output = STDOUT_FILENO);

}  // namespace sluice
