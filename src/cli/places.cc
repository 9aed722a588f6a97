#include "cli/places.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "exec/launch_folder.h"
#include "launcher/claim.h"

namespace sluice {
std::string EnvironmentVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<StorePaths> FindStore(const std::optional<std::string>& given) {
  std::string path = given.value_or(EnvironmentVariable("SLUICE_STORE"));
  if (path.empty()) {
    std::string data = EnvironmentVariable("XDG_DATA_HOME");
    // The XDG specification says that relative paths are ignored.
    if (!data.starts_with('/')) {
      const std::string home = EnvironmentVariable("HOME");
      if (home.empty()) {
        return InvalidArgument(
            "expected a home folder to keep the store in, found no HOME: name a store with "
            "--store");
      }
      data = home + "/.local/share";
    }
    path = data + "/sluice/sluice.db";
  }
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return InvalidArgument(fmt::format(
        "{0}: expected a file as the store, found a folder: name one in it, such as {0}/sluice.db",
        path));
  }
  return StorePaths::For(path);
}

std::string CheckpointFolder(const StorePaths& paths, const std::string& study, TrialId trial) {
  return TrialFolders(paths, study).Checkpoint(trial);
}

std::string OutputFile(const StorePaths& paths, const std::string& study, TrialId trial,
                       LaunchId launch, bool standard_error) {
  const TrialFolders folders(paths, study);
  std::string folder = folders.Launch({trial, launch});
  // If one process ran several launches, its output lies in the folder of the first launch.
  const std::optional<Claim> claim = ReadClaim(folder);
  if (const auto host = claim ? folders.LaunchAt(claim->host) : std::nullopt)
    folder = folders.Launch(*host);
  return folder + (standard_error ? "/stderr" : "/stdout");
}

bool HoldsFiles(const std::string& folder) {
  std::error_code error;
  const std::filesystem::directory_iterator files(folder, error);
  return !error && files != std::filesystem::directory_iterator();
}

}  // namespace sluice
