#pragma once

#include <string>

#include "base/result.h"
#include "exec/session/link.h"
#include "ledger/event_codec.h"
#include "ledger/reader.h"
#include "ledger/store.h"

namespace sluice {

// Whether programs of the study may run, with or without a controller.
bool MayRun(const StudyInfo& study);

// Gives a study to the controller of the link, or to the one that comes after it.
Status HandOver(const StorePaths& paths, Link& link, const std::string& study,
                const EncodedEvent& event = {});

// Waits until the controller has let go of the study.
Status AwaitEnd(Link& link, const std::string& study);

}  // namespace sluice
