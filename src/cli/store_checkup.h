#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/checkup.h"
#include "ledger/store.h"

namespace sluice {

// Of the store: that its pages are sound; of each study: that what readers see is what happened, that
// what happened was not changed, and that the files of its trials are not ahead of it, as they would
// be beside an older copy of the store. Everything is read.
std::vector<Checkup> CheckStore(const StorePaths& paths);

// Two ways to the same state: from the snapshot and what came after it, and from the very
// beginning.
Result<Checkup> CheckReplay(const StorePaths& paths, const std::string& study);

}  // namespace sluice
