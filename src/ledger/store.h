#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "ledger/database.h"

namespace sluice {

// Where a store keeps what: one SQLite file, and beside it a folder for sockets, output and
// checkpoints.
struct StorePaths {
  std::string database;  // DIR/NAME.db
  std::string files;     // DIR/NAME.files
  std::string run;       // DIR/NAME.files/run: lock and socket
  std::string socket;
  std::string lock;

  static StorePaths For(const std::string& database);
  std::string StudyFolder(const std::string& study) const;
};

constexpr int kSchemaVersion = 1;

// Opens a store for reading: fails with not_found if there is none, and without touching it if it
// is none of ours, or newer than this program knows.
Result<std::unique_ptr<Database>> OpenStoreForReading(const std::string& path,
                                                      const Disk& disk = {});

// Opens a store for writing, makes it if there is none, brings an older schema forward. Call with
// the lock held.
Result<std::unique_ptr<Database>> OpenStoreForWriting(const std::string& path,
                                                      const Disk& disk = {});

}  // namespace sluice
