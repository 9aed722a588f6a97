#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "control/site.h"
#include "ledger/store.h"
#include "wire/message.h"

namespace sluice {

// The folders of a study's trials. The files of a launch are in STUDY/trials/7/launch-2, and the
// trial's checkpoint is in STUDY/trials/7/checkpoint.
class TrialFolders {
 public:
  TrialFolders(const StorePaths& paths, const std::string& study)
      : root_(paths.StudyFolder(study) + "/trials") {}

  std::string Launch(wire::LaunchRef at) const;
  // The launch whose folder has this path. Only the last parts of the path count, so the path may
  // be from the time before the store was moved.
  static std::optional<wire::LaunchRef> LaunchAt(const std::string& folder);
  std::string Checkpoint(TrialId trial) const;
  // Makes the launch's folder and the folders above it.
  Status Make(wire::LaunchRef at) const;
  // The same for a new launch, which no process can have claimed yet. If there is a claim, it is
  // left from a state of the store that was undone, for example by putting an older copy back. The
  // claim's processes are killed, and the folder is moved aside. `guard` is called first. If it
  // fails, another controller holds the store and may have made the claim: then this fails too, and
  // changes nothing.
  Status MakeFresh(wire::LaunchRef at, const std::function<Status()>& guard) const;

 private:
  std::string root_;
};

// If there is a folder at this path, for example from a store that was replaced, renames it to make
// room for a new folder. Nothing is deleted.
Status MoveAside(const std::string& folder);

// Says how a launch ended. `host_folder` has the exit record of the launch's process, and the
// launch's own folder may have a note of the program. If the launcher was killed, also kills the
// processes that it left.
LaunchEnd ReadLaunchEnd(const std::string& launch_folder, const std::string& host_folder);

// The messages that a worker could not deliver, one per line. At most 256 MiB are read. A last line
// that is not complete is left out.
std::vector<std::string> ReadSpool(const std::string& launch_folder);

// The bytes of all files in a folder and its subfolders; 0 if there is no such folder.
std::int64_t FolderBytes(const std::string& folder);

Status WriteFile(const std::string& path, std::string_view text, mode_t mode = 0644);

// Draws a secret that only the processes of a launch know, and writes it to FOLDER/secret. Only
// this user can read the file.
Status WriteSecret(const std::string& folder);

}  // namespace sluice
