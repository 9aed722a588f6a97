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

// Where the files of a study's trials are: those of a launch in STUDY/trials/7/launch-2, the
// trial's checkpoint in STUDY/trials/7/checkpoint.
class TrialFolders {
 public:
  TrialFolders(const StorePaths& paths, const std::string& study)
      : root_(paths.StudyFolder(study) + "/trials") {}

  std::string Launch(wire::LaunchRef at) const;
  // The launch that has its folder at this path, in this store or where the store lay before it was
  // moved.
  static std::optional<wire::LaunchRef> LaunchAt(const std::string& folder);
  std::string Checkpoint(TrialId trial) const;
  // Makes the launch's folder and what leads there.
  Status Make(wire::LaunchRef at) const;
  // The same for a new launch, which no process can have claimed yet. A claim that is there is from
  // an earlier state of the store: its processes are killed, and the folder is moved aside. Fails
  // if the guard does: then another controller holds the store and may have made the claim.
  Status MakeFresh(wire::LaunchRef at, const std::function<Status()>& guard) const;

 private:
  std::string root_;
};

// Renames a folder that lies where a new one is to be, such as one of a store that was replaced.
// Nothing is deleted.
Status MoveAside(const std::string& folder);

// How a launch ended, by the exit record in `host_folder` and by what the program left in the
// launch's own folder. Kills what is left of the launch if its launcher was killed.
LaunchEnd ReadLaunchEnd(const std::string& launch_folder, const std::string& host_folder);

// Messages that a worker could not deliver, one a line. Bounded; a broken last line is left out.
std::vector<std::string> ReadSpool(const std::string& launch_folder);

// Bytes in a folder and below; 0 if there is none.
std::int64_t FolderBytes(const std::string& folder);

Status WriteFile(const std::string& path, std::string_view text, mode_t mode = 0644);

// Draws a secret that only the processes of a launch know: FOLDER/secret, readable by its owner
// only.
Status WriteSecret(const std::string& folder);

}  // namespace sluice
