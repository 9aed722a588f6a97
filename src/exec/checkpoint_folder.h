#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace sluice {

// Copies a checkpoint folder, all of it or nothing. A folder that is already at `to` counts as an
// earlier copy, and stays as it is. A trial may go on writing to `from` meanwhile if it replaces
// files by renaming, as sluice.checkpoint does. If something changes during the copy, the copy is
// made again, and given up after some tries. What the trial is just writing (`.writing`) is left
// out, and so is the checkpoint of its best report, which does not belong to the copy. The copy is
// on disk when this returns. Fails with unavailable, and leaves nothing at `to`. A copy that is
// asked to stop fails soon, also in the middle of a large file.
Status CopyCheckpointFolder(const std::string& from, const std::string& to,
                            const std::stop_token& stop = {});

// Writes down which launch owns a checkpoint folder (FOLDER.owner, docs/protocol.md). From then on
// the package saves nothing there for an earlier launch that may still run. The file is locked
// meanwhile. Fails with unavailable if a process keeps it locked for too long.
Status SetCheckpointOwner(const std::string& folder, LaunchId launch);

// The work of the latest checkpoint in a checkpoint folder, if sluice.checkpoint wrote it.
std::optional<Work> CheckpointWork(const std::string& folder);

// The checkpoint at this work that sluice.checkpoint has kept beside the latest one, because the
// trial's best report was made at this work. Nothing if the latest checkpoint is at this work.
std::optional<std::string> KeptCheckpoint(const std::string& folder, Work work);

}  // namespace sluice
