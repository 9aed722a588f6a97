#pragma once

#include <string>

#include "base/result.h"
#include "cli/view/view.h"
#include "exec/session/interrupts.h"
#include "exec/session/kept_link.h"
#include "exec/session/session.h"
#include "ledger/reader.h"
#include "ledger/store.h"

namespace sluice {

// Shows a study that was handed over, until its controller has let go of it. Ctrl-C pauses the
// study, and a second one kills its trials. If the controller dies, starts another one, but not
// after the third death within a minute: then fails, and says why it died.
Result<RunEnd> LookOn(const StorePaths& paths, const std::string& study, Link link, View& view);

// The same for a study that runs anyway: Ctrl-C ends the view only, and this then returns.
Status Watch(const StorePaths& paths, const std::string& study, Link link, View& view);

// What arrives at a command that looks on.
struct Arrived {
  bool answer = false;     // the controller has answered or died
  bool interrupt = false;  // Ctrl-C
};
// Waits for something to arrive, for a tenth of a second at most.
Arrived AwaitNews(const KeptLink& link, const Interrupts& interrupts);

// Says that a study pauses because the machine cannot start its trials.
std::string PauseText(const StudyInfo& study);

}  // namespace sluice
