#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/checkup.h"
#include "ledger/store.h"

namespace sluice {

// Checks that the pages of the store are not damaged. For each study, checks three things: the rows
// that readers see agree with the study's events, the events were not changed, and the files of the
// trials are not ahead of the store. Files are ahead if an older copy of the store was put back.
// Reads the whole store.
std::vector<Checkup> CheckStore(const StorePaths& paths);

// Recovers a study twice, and compares the two states: from its snapshot and the events after the
// snapshot, and from all its events.
Result<Checkup> CheckReplay(const StorePaths& paths, const std::string& study);

}  // namespace sluice
