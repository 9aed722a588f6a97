#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "ledger/store.h"

namespace sluice {

// What a variable of the environment holds; nothing if it is not set.
std::string EnvironmentVariable(const char* name);

// The store that is meant: what was given with --store, else SLUICE_STORE, else sluice/sluice.db in
// the user's data folder.
Result<StorePaths> FindStore(const std::optional<std::string>& given);

// Where a trial's files are, whether they exist or not.
std::string CheckpointFolder(const StorePaths& paths, const std::string& study, TrialId trial);
std::string OutputFile(const StorePaths& paths, const std::string& study, TrialId trial,
                       LaunchId launch, bool standard_error);

// A folder with something in it.
bool HoldsFiles(const std::string& folder);

}  // namespace sluice
