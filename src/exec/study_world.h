#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/process_limits.h"

namespace sluice {

// What the programs of a study get from the `sluice tune` or `sluice resume` that handed the study
// over, whichever process runs the controller: its environment, its umask and its resource limits.
// The folder that they run in is the study's (StudyCreated::folder).
//
// An environment may hold passwords. So a world is kept only in the file `world` of the study's
// folder, which only this user can read. It is in no event and in no export, and it is removed with
// the study.
struct StudyWorld {
  std::vector<std::string> environment;  // texts NAME=value
  ProcessLimits limits;

  // The value of a variable; nothing if the environment has none of this name.
  std::optional<std::string> Find(std::string_view name) const;
};

// The world of this process. Its limit of descriptors is the one that this process was started
// with.
StudyWorld CaptureWorld();

// Writes the world into the study's folder, and makes the folder if there is none. If this fails,
// a world that was kept before is still there, whole.
Status KeepWorld(const std::string& study_folder, const StudyWorld& world);

// Fails with not_found if the folder has no world, as for studies of earlier versions. Fails with
// corruption if what is there is not a world that this user has kept.
Result<StudyWorld> ReadWorld(const std::string& study_folder);

// Keeps the world of this process. What was written is read again, so that a file that later
// controllers could not read is noticed now.
Result<StudyWorld> KeepOwnWorld(const std::string& study_folder);

// The text of the file: a line with the version, then items that each end with a zero byte. The
// items are the limits (FormatLimits), the number of variables, and the variables. So values may
// have any bytes, and a file that was cut off is recognised.
std::string EncodeWorld(const StudyWorld& world);
// Fails with corruption. The message says what was expected and what was found.
Result<StudyWorld> DecodeWorld(std::string_view text);

}  // namespace sluice
