#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "ledger/ledger.h"
#include "ledger/store.h"

namespace sluice {

// Identifies the file of a store, whatever name it was found by. Two names of one file are one
// store. A file that replaces another is another store.
struct StoreIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const StoreIdentity&, const StoreIdentity&) = default;
};

// The right to write a store: held by one live process at a time. The operating system releases it
// when the holder dies, however it dies. The lock is a file beside the store, named after the
// store's identity. It is not the database itself: closing a second descriptor of the database
// would drop the locks of SQLite.
class StoreLock {
 public:
  // Makes the store's folders, and an empty database if there is none. Fails with
  // failed_precondition
  // - while another process holds the lock; the message has the pid and purpose of that process;
  // - if the folder cannot be written, or belongs to another store or user;
  // - if the database has several hard links;
  // - on file systems without locks.
  static Result<StoreLock> Acquire(const StorePaths& paths, const std::string& purpose);

  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&&) = delete;
  ~StoreLock();

  // Checks that this process still holds the right: the lock file and the store's file must be the
  // same files as when the lock was taken. Fails with failed_precondition if one was removed or
  // replaced, since another process may hold the right by now. May be called on any thread.
  Status Check() const;

 private:
  StoreLock(int descriptor, std::string path, std::string database, StoreIdentity store)
      : descriptor_(descriptor),
        path_(std::move(path)),
        database_(std::move(database)),
        store_(store) {}
  int descriptor_;
  std::string path_;
  std::string database_;
  StoreIdentity store_;
};

// Opens the store for writing and records it as the owner of its folder of files. Once the lock is
// lost (StoreLock::Check), nothing more is committed. The lock must outlive the ledger.
Result<std::unique_ptr<Ledger>> OpenLocked(const StorePaths& paths, const StoreLock& lock);

// The process that holds the lock of a store; pid 0: none.
struct LockHolder {
  int pid = 0;
  std::string purpose;
};
LockHolder FindLockHolder(const StorePaths& paths);
// Says that the store is held by this process.
std::unexpected<Error> InUse(const StorePaths& paths, const LockHolder& holder);

}  // namespace sluice
