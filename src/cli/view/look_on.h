#pragma once

#include <string>

#include "base/result.h"
#include "cli/view/view.h"
#include "exec/session/session.h"
#include "ledger/store.h"

namespace sluice {

// Shows a study that was handed over, until its controller has let go of it. Ctrl-C pauses the
// study, and a second one kills its trials. If the controller dies, starts another one, but not
// after the third death within a minute: then fails, and says why it died.
Result<RunEnd> LookOn(const StorePaths& paths, const std::string& study, Link link, View& view);

// The same for a study that runs anyway: Ctrl-C ends the view only, and this then returns.
Status Watch(const StorePaths& paths, const std::string& study, Link link, View& view);

}  // namespace sluice
