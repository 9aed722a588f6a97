#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "wire/message.h"

namespace sluice::client {

// Locks a trial's checkpoint folder, so that only one process at a time changes it, and tells
// whether a launch owns the folder (docs/protocol.md). The file CHECKPOINT_DIR.owner names the
// launch that does. If there is no such file, or no number in it, the folder is every launch's.
//
// The kernel's lock is the process's: no second OwnerLock of a folder may be made while one lives.
class OwnerLock {
 public:
  // Waits for the lock. Fails with unavailable if the file cannot be opened.
  static Result<OwnerLock> Take(const std::string& checkpoint_dir, wire::LaunchRef at);

  OwnerLock(OwnerLock&& other) noexcept;
  OwnerLock& operator=(OwnerLock&&) = delete;
  ~OwnerLock();

  // Nothing if the launch owns the folder, otherwise the number of the launch that does.
  const std::optional<std::uint64_t>& other() const { return other_; }

 private:
  OwnerLock(int descriptor, std::optional<std::uint64_t> other)
      : descriptor_(descriptor), other_(other) {}

  int descriptor_;  // -1: there is no file
  std::optional<std::uint64_t> other_;
};

}  // namespace sluice::client
