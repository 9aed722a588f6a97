#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "ledger/database.h"

namespace sluice {

// A disk in memory for the databases of one process, with the failures of a real disk. The process
// sees what it writes immediately. A power cut leaves what was synced and any subset of the other
// sectors. In the same way, the creation or deletion of a file is permanent only once its folder is
// synced. The folder is synced when SQLite would sync it on the machine's own disk (for example at
// the first sync of a new journal). A file that is synced keeps its name even if its folder is not
// synced, as on Linux's file systems.
//
//   MemoryDisk disk({.seed = 7});
//   auto ledger = Ledger::Open("/s.db", disk.disk());
//   ...
//   ledger->reset();
//   disk.Crash(MemoryDisk::Unsynced::kDrawn);
//
// SQLite knows the disk while the object lives; nothing is shared between disks. The same calls
// with the same seed fail and survive in the same way. Only one thread may use a disk at a time.
// Every database must be closed before the disk is destroyed.
class MemoryDisk {
 public:
  struct Options {
    std::uint64_t seed = 0;
    bool lies_about_sync = false;  // syncs succeed without effect; shows that a test can fail
    int page_bytes = 0;            // of the databases on it; small pages are quicker to commit
  };

  // What happens to data that was not synced.
  enum class Unsynced {
    kLost,
    kKept,   // the process was killed, and the machine still runs
    kDrawn,  // any subset of sectors
  };

  // How often operations fail, at random.
  struct FaultRates {
    double write = 0;  // of writes, truncations, creations and deletions
    double sync = 0;
  };

  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  explicit MemoryDisk(const Options& options);
  ~MemoryDisk();
  MemoryDisk(const MemoryDisk&) = delete;

  // For Ledger::Open, Database::Open and their like.
  Disk disk() const;

  // How many operations changed the disk, or tried to: writes, truncations, syncs, creations and
  // deletions (with the sync of the folder, where SQLite asks for that). They are numbered from 0.
  std::uint64_t operations() const;

  // The process or the machine dies as it begins this operation. From then on every operation fails
  // without effect, until Crash.
  void DieAt(std::uint64_t operation);
  bool dead() const;

  // All open files become useless: their operations fail, and closing them changes nothing. Files
  // that are opened afterwards work.
  void Crash(Unsynced unsynced);

  // This operation fails with an I/O error; a write may have done a part of its work.
  void FailAt(std::uint64_t operation);
  // The same for reads, which change nothing and are counted separately. Each call replaces the
  // call before.
  void FailReadAt(std::uint64_t read);
  std::uint64_t fails_read_at() const;
  std::uint64_t reads() const;
  void FailOften(const FaultRates& rates);

  // The disk is full when its files hold this many bytes. Files keep what they hold already.
  void SetCapacity(std::uint64_t bytes);
  std::uint64_t used_bytes() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
