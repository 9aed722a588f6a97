#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/checkup.h"
#include "ledger/store.h"

namespace sluice {

// Checks that the pages of the store are sound. Checks for each study that the rows readers see
// agree with its events, that its events were not changed, and that the files of its trials are not
// ahead of the store, as they would be beside an older copy of it. Reads everything.
std::vector<Checkup> CheckStore(const StorePaths& paths);

// Compares the state recovered from the snapshot and the events after it with the state replayed
// from the first event.
Result<Checkup> CheckReplay(const StorePaths& paths, const std::string& study);

}  // namespace sluice
