#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace sluice {

// Copies a checkpoint folder. The copy is on disk when this returns. A folder that is already at
// `to` counts as an earlier copy, and is not changed. Two things are left out: files that the trial
// is writing (`.writing`), and the checkpoint of the trial's best report, because that report does
// not belong to the copy.
//
// The trial may write to `from` during the copy if it replaces files by renaming, as
// sluice.checkpoint does. If something changes during the copy, the copy is made again, and given
// up after some tries. A copy that is asked to stop fails soon, also in the middle of a large file.
// Fails with unavailable, and then leaves nothing at `to`.
Status CopyCheckpointFolder(const std::string& from, const std::string& to,
                            const std::stop_token& stop = {});

// Writes which launch owns a checkpoint folder to the file FOLDER.owner (docs/protocol.md). From
// then on the package does not save to the folder for an earlier launch, which may still run. The
// file is locked while it is written. Fails with unavailable if another process keeps the file
// locked for too long.
Status SetCheckpointOwner(const std::string& folder, LaunchId launch);

// The work of the latest checkpoint in a checkpoint folder, if sluice.checkpoint wrote it.
std::optional<Work> CheckpointWork(const std::string& folder);

// The checkpoint at this work that sluice.checkpoint has kept beside the latest checkpoint, because
// the trial's best report was made at this work. Nothing if the latest checkpoint is at this work,
// or if there is no such checkpoint.
std::optional<std::string> KeptCheckpoint(const std::string& folder, Work work);

}  // namespace sluice
