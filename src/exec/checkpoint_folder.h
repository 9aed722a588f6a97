#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace sluice {

// Copies a checkpoint folder, all of it or nothing: a folder that is at `to` already is the copy,
// made before. Whoever writes to `from` may go on meanwhile as long as it replaces what is there by
// renaming (sluice.checkpoint does): if something changes during the copy, it is made again, and in
// the end given up. What a trial is just writing (`.writing`) is left out, and the checkpoint of its
// best report, which is not the copy's. What was copied is on disk when this returns. Fails with
// unavailable, and leaves nothing at `to`.
Status CopyCheckpointFolder(const std::string& from, const std::string& to);

// The work of the latest checkpoint in such a folder, if sluice.checkpoint wrote it.
std::optional<Work> CheckpointWork(const std::string& folder);

// The checkpoint of this work that sluice.checkpoint has kept there beside the latest, since the
// trial's best report was made then.
std::optional<std::string> KeptCheckpoint(const std::string& folder, Work work);

}  // namespace sluice
