#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::client {

// A launch's folder has files that a process of the launch writes for the controller. These
// functions write them. No file is kept open: a process may carry more launches than it may have
// open files.

// Adds messages to the spool. When this returns, the messages survive the death of the process. If
// synced, they also survive a power failure.
Status AppendToSpool(const std::string& folder, std::string_view lines, bool synced);

// Writes the file that says that the trial was paused, and is not complete.
Status MarkPaused(const std::string& folder);

// Returns how many processes were counted for the launch before this one. Then counts this one. If
// the file cannot be written, this process is taken to be the first.
std::uint64_t NextConversation(const std::string& folder);

// Writes to a file the number of the last acknowledged message, for `sluice doctor`. A failure is
// ignored: the number serves only that check.
void NoteAcknowledged(const std::string& folder, std::uint64_t seq);

}  // namespace sluice::client
