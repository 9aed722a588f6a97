#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "ledger/store.h"

namespace sluice {

// The value of an environment variable, or "" if it is not set.
std::string EnvironmentVariable(const char* name);

// The store to use: the path given with --store, else the path in SLUICE_STORE, else
// sluice/sluice.db in the user's data folder. Fails with invalid_argument if the path is a folder.
Result<StorePaths> FindStore(const std::optional<std::string>& given);

// Where a trial's files are, whether they exist or not.
std::string CheckpointFolder(const StorePaths& paths, const std::string& study, TrialId trial);
std::string OutputFile(const StorePaths& paths, const std::string& study, TrialId trial,
                       LaunchId launch, bool standard_error);

// Whether the folder exists and is not empty.
bool HoldsFiles(const std::string& folder);

}  // namespace sluice
