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

// Where the files of a study's trials are: STUDY/trials/7/launch-2 with the launch's own,
// STUDY/trials/7/checkpoint.
class TrialFolders {
 public:
  TrialFolders(const StorePaths& paths, const std::string& study)
      : root_(paths.StudyFolder(study) + "/trials") {}

  std::string Launch(wire::LaunchRef at) const;
  // The launch whose folder had this path, in this store or where it lay before it was moved.
  static std::optional<wire::LaunchRef> LaunchAt(const std::string& folder);
  std::string Checkpoint(TrialId trial) const;
  // Makes the launch's folder and what leads there.
  Status Make(wire::LaunchRef at) const;
  // The same for a launch that nobody can have seen: what lies there is of an earlier life of the
  // store, unless the guard fails: then another controller has looked for the launch.
  Status MakeFresh(wire::LaunchRef at, const std::function<Status()>& guard) const;

 private:
  std::string root_;
};

// Renames a folder that lies where a new one is to be, such as one of a store that was replaced:
// nobody's work is deleted here.
Status MoveAside(const std::string& folder);

// How a launch ended, as the files tell: of the program's exit and of what it left in the launch's
// own folder.
LaunchEnd ReadLaunchEnd(const std::string& launch_folder, const std::string& host_folder);

// Messages that a worker could not deliver, line by line. Bounded; a broken last line is left out.
std::vector<std::string> ReadSpool(const std::string& launch_folder);

// Bytes in a folder and below; 0 if there is none.
std::int64_t FolderBytes(const std::string& folder);

Status WriteFile(const std::string& path, std::string_view text, mode_t mode = 0644);

// What the processes of a launch know and no other: FOLDER/secret, for its owner's eyes only.
Status WriteSecret(const std::string& folder);

}  // namespace sluice
