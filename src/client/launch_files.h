#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::client {

// The files in the folder of a launch that a process writes for the controller, or reads. No file
// is kept open: a process may carry more launches than it may have open files.

// Adds messages to the spool. When this returns, the messages survive the death of the process. If
// synced, they also survive a power failure.
Status AppendToSpool(const std::string& folder, std::string_view lines, bool synced);

// Writes the file that says that the trial was paused, and is not complete.
Status MarkPaused(const std::string& folder);

// Returns how many processes have sent messages for the launch so far, and counts this process too.
// If the file cannot be written, this process is taken to be the first.
std::uint64_t NextConversation(const std::string& folder);

// Writes the number of the last acknowledged message to a file, for `sluice doctor`. A failure is
// ignored: the number serves only that check.
void NoteAcknowledged(const std::string& folder, std::uint64_t seq);

}  // namespace sluice::client
