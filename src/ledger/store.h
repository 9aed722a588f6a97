#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "ledger/database.h"

namespace sluice {

// Where a store keeps its data: one SQLite file, and beside it a folder for sockets, output and
// checkpoints.
struct StorePaths {
  std::string database;  // DIR/NAME.db, without links
  std::string files;     // DIR/NAME.files; of a file that is not called .db: DIR/NAME.EXT.files
  std::string run;       // lock and socket: FILES/run
  std::string socket;
  std::string owner;  // names the store that owns the folder of files: FILES/store

  // The paths of a store by any of its names: links lead to the same paths.
  static StorePaths For(const std::string& database);
  std::string StudyFolder(const std::string& study) const;
};

constexpr int kSchemaVersion = 2;

// Opens a store for reading. Fails with not_found if there is none. Fails, without touching the
// file, if it is not a Sluice store or newer than this program knows. An older store is read as it
// is.
Result<std::unique_ptr<Database>> OpenStoreForReading(const std::string& path,
                                                      const Disk& disk = {});

// Opens a store for writing, makes it if there is none, brings an older schema forward. Call with
// the lock held.
Result<std::unique_ptr<Database>> OpenStoreForWriting(const std::string& path,
                                                      const Disk& disk = {});

// Fails with failed_precondition if the file has several hard links: the files that SQLite keeps
// beside it would be found by one of its names only.
Status CheckOneName(const std::string& path);

// The schema of an open store.
Result<int> SchemaOf(Database& database);
// The random id drawn when the store was made, or when it was brought to schema 2. A copy has the
// same id. Empty for a store of schema 1.
Result<std::string> StoreId(Database& database);

}  // namespace sluice
