#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::client {

// What a process leaves for the controller in the folder of a launch, and finds there. No file is
// kept open: a process may carry more launches than it may open files.

// Adds messages to the spool. When this returns they outlive the process, and if synced, the
// machine.
Status AppendToSpool(const std::string& folder, std::string_view lines, bool synced);

// Says that the end of the process is not the end of the trial.
Status MarkPaused(const std::string& folder);

// How many processes have sent messages for the launch before. Counts this one too. If the file
// cannot be written, this process counts as the first.
std::uint64_t NextConversation(const std::string& folder);

// Notes up to which message the controller has said that the messages are on disk, for `sluice
// doctor`. Nothing is lost if this fails.
void NoteAcknowledged(const std::string& folder, std::uint64_t seq);

}  // namespace sluice::client
