#pragma once

#include <string>

#include "base/result.h"
#include "ledger/store.h"

namespace sluice {

// The right to write a store: held by one live controller at a time. The operating system gives it
// back when the holder dies, however it dies.
class StoreLock {
 public:
  // Makes the store's folders. Fails with failed_precondition while another process holds the lock
  // (saying its pid and what it does), where the folder cannot be written, and on file systems
  // without locks.
  static Result<StoreLock> Acquire(const StorePaths& paths, const std::string& purpose);

  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&&) = delete;
  ~StoreLock();

 private:
  explicit StoreLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

// Who holds the lock of a store; pid 0: nobody.
struct LockHolder {
  int pid = 0;
  std::string purpose;
};
LockHolder FindLockHolder(const StorePaths& paths);

}  // namespace sluice
