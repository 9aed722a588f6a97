#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "ledger/database.h"

namespace sluice {

// Where a store keeps its data: one SQLite file, and beside it a folder for sockets, output and
// checkpoints.
struct StorePaths {
  std::string database;  // DIR/NAME.db, with links resolved
  std::string files;     // DIR/NAME.files; if the file is not called .db: DIR/NAME.EXT.files
  std::string run;       // lock and socket: FILES/run
  std::string socket;
  std::string owner;  // names the store that owns the folder of files: FILES/store

  // The paths of a store by any of its names: links lead to the same paths.
  static StorePaths For(const std::string& database);
  std::string StudyFolder(const std::string& study) const;
};

constexpr int kSchemaVersion = 4;

// Opens a store for reading. Fails with not_found if there is none. Fails, without changing the
// file, if it is not a Sluice store, or if its schema is newer than this program knows. A store of
// an older schema is read without a migration.
Result<std::unique_ptr<Database>> OpenStoreForReading(const std::string& path,
                                                      const Disk& disk = {});

// Opens a store for writing. Makes the store if there is none, and migrates an older schema. The
// caller must hold the store's lock.
Result<std::unique_ptr<Database>> OpenStoreForWriting(const std::string& path,
                                                      const Disk& disk = {});

// Fails with failed_precondition if the file has several hard links. SQLite keeps further files
// beside it, and would find them by one of the names only.
Status CheckOneName(const std::string& path);

// The schema of an open store.
Result<int> SchemaOf(Database& database);
// The random id drawn when the store was made, or when it was brought to schema 2. A copy has the
// same id. Empty for a store of schema 1.
Result<std::string> StoreId(Database& database);

}  // namespace sluice
