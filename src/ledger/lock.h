#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "ledger/ledger.h"
#include "ledger/store.h"

namespace sluice {

// Which file a store is, by whatever name it was found: two names of one file are one store, and a
// file that takes another's place is another store.
struct StoreIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const StoreIdentity&, const StoreIdentity&) = default;
};

// The right to write a store: held by one live process at a time. The operating system gives it
// back when the holder dies, however it dies. The lock is a file beside the store, named after the
// store's identity: a second descriptor of the database itself would, when closed, drop the locks of
// SQLite.
class StoreLock {
 public:
  // Makes the store's folders, and an empty database if there is none. Fails with
  // failed_precondition while another process holds the lock (saying its pid and what it does),
  // where the folder cannot be written or is another store's or another user's, on a database with
  // several hard links, and on file systems without locks.
  static Result<StoreLock> Acquire(const StorePaths& paths, const std::string& purpose);

  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&&) = delete;
  ~StoreLock();

  // Whether the right is still ours: the lock and the store are the files they were. Fails with
  // failed_precondition if one was removed or replaced, since another process may hold the right by now. Any
  // thread.
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

// The store for writing, and its folder of files for this store, while the lock is ours: afterwards
// nothing is committed. The lock outlives it.
Result<std::unique_ptr<Ledger>> OpenLocked(const StorePaths& paths, const StoreLock& lock);

// Who holds the lock of a store; pid 0: no process.
struct LockHolder {
  int pid = 0;
  std::string purpose;
};
LockHolder FindLockHolder(const StorePaths& paths);

}  // namespace sluice
