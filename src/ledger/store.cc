#include "ledger/store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>

#include "base/planted.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kApplicationId = 0x534c5543;  // "SLUC"

// Step n brings a store from schema n to n + 1. A released step is never changed: new steps are
// added.
constexpr std::array<const char*, kSchemaVersion> kMigrations = {R"sql(
  -- What happened, in order: the truth. Reports are events too, in a table of their own, because
  -- there are many.
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY, study INTEGER NOT NULL, time_us INTEGER NOT NULL,
    kind TEXT NOT NULL, body TEXT NOT NULL);
  CREATE TABLE reports (
    seq INTEGER PRIMARY KEY, study INTEGER NOT NULL, trial INTEGER NOT NULL,
    launch INTEGER NOT NULL, time_us INTEGER NOT NULL, message INTEGER NOT NULL,
    output_offset INTEGER NOT NULL, work INTEGER NOT NULL, metrics TEXT NOT NULL);
  CREATE INDEX reports_by_trial ON reports (study, trial);
  CREATE INDEX events_by_study ON events (study, kind);
  -- Where things stand, for readers; written in the same transaction as the events that made it so.
  CREATE TABLE studies (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, folder TEXT NOT NULL, seed INTEGER NOT NULL,
    metric TEXT NOT NULL, direction TEXT NOT NULL, unit TEXT NOT NULL,
    created_us INTEGER NOT NULL, updated_us INTEGER NOT NULL,
    trials INTEGER NOT NULL, deadline_us INTEGER, ending TEXT NOT NULL, finished INTEGER NOT NULL,
    best INTEGER, waiting INTEGER NOT NULL, running INTEGER NOT NULL, paused INTEGER NOT NULL,
    complete INTEGER NOT NULL, stopped INTEGER NOT NULL, failed INTEGER NOT NULL);
  CREATE TABLE trials (
    study INTEGER NOT NULL, trial INTEGER NOT NULL, state TEXT NOT NULL, params TEXT NOT NULL,
    work INTEGER NOT NULL, target INTEGER, value REAL, best_value REAL, best_work INTEGER NOT NULL,
    launch INTEGER NOT NULL, failures INTEGER NOT NULL, reports INTEGER NOT NULL,
    created_us INTEGER NOT NULL, started_us INTEGER NOT NULL, ended_us INTEGER NOT NULL,
    busy_us INTEGER NOT NULL, saved_work INTEGER NOT NULL, saved_bytes INTEGER NOT NULL,
    note TEXT NOT NULL, attributes TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (study, trial)) WITHOUT ROWID;
  CREATE INDEX trials_running ON trials (study) WHERE state = 'running';
  -- The engine's state after event seq, so that a restart need not replay everything.
  CREATE TABLE snapshots (
    study INTEGER PRIMARY KEY, seq INTEGER NOT NULL, digest TEXT NOT NULL, state BLOB NOT NULL);
)sql",
                                                                 R"sql(
  CREATE TABLE store (id TEXT NOT NULL);
  INSERT INTO store VALUES (lower(hex(randomblob(16))));
  -- Why the machine could not go on with the study; empty: it could.
  ALTER TABLE studies ADD COLUMN pause TEXT NOT NULL DEFAULT '';
  -- A checksum of all events and reports of the study behind seq chained_after, in order.
  ALTER TABLE studies ADD COLUMN chain TEXT NOT NULL DEFAULT '';
  ALTER TABLE studies ADD COLUMN chained_after INTEGER NOT NULL DEFAULT 0;
  UPDATE studies SET chained_after = max(
    coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT max(seq) FROM reports), 0));
)sql",
                                                                 R"sql(
  -- The same checksum of the events that belong to no study (their study is 0).
  ALTER TABLE store ADD COLUMN chain TEXT NOT NULL DEFAULT '';
)sql",
                                                                 R"sql(
  -- Whether a controller has taken the study in (study_opened), and has not let go of it since.
  ALTER TABLE studies ADD COLUMN open INTEGER NOT NULL DEFAULT 0;
)sql"};

Result<std::int64_t> Pragma(Database& database, const char* name) {
  SLUICE_ASSIGN(Statement query, database.Prepare(fmt::format("PRAGMA {}", name)));
  SLUICE_ASSIGN(const bool row, query.Step());
  return row ? query.Integer(0) : 0;
}

// The schema of a Sluice store; 0 for an empty file.
Result<int> SchemaVersion(Database& database) {
  SLUICE_ASSIGN(const std::int64_t application, Pragma(database, "application_id"));
  SLUICE_ASSIGN(const std::int64_t version, Pragma(database, "user_version"));
  if (application == 0 && version == 0) {
    SLUICE_ASSIGN(const std::int64_t pages, Pragma(database, "page_count"));
    if (pages == 0) return 0;
    // The process that made the store was killed before the first table: SQLite had only set up its
    // journal.
    SLUICE_ASSIGN(Statement tables, database.Prepare("SELECT count(*) FROM sqlite_schema"));
    SLUICE_ASSIGN(const bool counted, tables.Step());
    if (counted && tables.Integer(0) == 0) return 0;
  }
  if (application != kApplicationId) {
    return Corruption(
        fmt::format("{}: expected a Sluice store, found an SQLite file of something else: name "
                    "another with --store",
                    database.path()));
  }
  if (version < 0) {
    return Corruption(fmt::format("{}: the store is damaged (schema {}): restore it from a copy",
                                  database.path(), version));
  }
  if (version > kSchemaVersion) {
    return FailedPrecondition(
        fmt::format("{}: written by a newer Sluice (schema {}; this one knows {}): update sluice; "
                    "the store was not touched",
                    database.path(), version, kSchemaVersion));
  }
  return static_cast<int>(version);
}

// The path with all links resolved. Its last name may be a link to a store that does not exist yet.
fs::path WithoutLinks(const std::string& database) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  fs::path path = fs::absolute(database).lexically_normal();
  for (int links = 0; links < kMostLinks && fs::is_symlink(path, error); ++links) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = (path.parent_path() / target).lexically_normal();
  }
  const fs::path resolved = fs::weakly_canonical(path, error);
  return error ? path : resolved;
}

fs::path FilesOf(const fs::path& database) {
  const fs::path folder = database.parent_path();
  const fs::path by_stem = folder / (database.stem().string() + ".files");
  const fs::path by_name = folder / (database.filename().string() + ".files");
  if (database.extension() == ".db") return by_stem;
  // Older versions named the folder after the stem, whatever the extension. A store that they made
  // keeps that folder if no other store can claim it.
  std::error_code error;
  const bool of_then = fs::exists(database, error) && !fs::exists(by_name, error) &&
                       fs::exists(by_stem / "studies", error) &&
                       !fs::exists(folder / (database.stem().string() + ".db"), error);
  return of_then ? by_stem : by_name;
}

Status Migrate(Database& database, int from) {
  for (int version = from; version < kSchemaVersion; ++version) {
    SLUICE_TRY(database.Execute("BEGIN IMMEDIATE"));
    SLUICE_TRY(database.Execute(kMigrations[static_cast<std::size_t>(version)]));
    SLUICE_TRY(
        database.Execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT",
                                     kApplicationId, version + 1)));
  }
  return {};
}

}  // namespace

Status CheckOneName(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0 || status.st_nlink < 2) return {};
  return FailedPrecondition(fmt::format(
      "{0}: this file has {1} names (hard links), and a store has one: keep a copy instead ('cp "
      "--reflink=auto {0} COPY'), and remove the other names",
      path, status.st_nlink));
}

Result<int> SchemaOf(Database& database) { return SchemaVersion(database); }

Result<std::string> StoreId(Database& database) {
  SLUICE_ASSIGN(const int version, SchemaVersion(database));
  if (version < 2) return std::string();
  SLUICE_ASSIGN(Statement query, database.Prepare("SELECT id FROM store"));
  SLUICE_ASSIGN(const bool found, query.Step());
  return std::string(found ? query.Text(0) : "");
}

StorePaths StorePaths::For(const std::string& database) {
  const fs::path path = WithoutLinks(database);
  StorePaths paths;
  paths.database = path.string();
  paths.files = FilesOf(path).string();
  paths.run = paths.files + "/run";
  paths.socket = paths.run + "/controller.sock";
  paths.owner = paths.files + "/store";
  return paths;
}

std::string StorePaths::StudyFolder(const std::string& study) const {
  return files + "/studies/" + study;
}

Result<std::unique_ptr<Database>> OpenStoreForReading(const std::string& path, const Disk& disk) {
  if (!Database::Exists(path, disk)) {
    return NotFound(fmt::format(
        "{}: no store here yet: run 'sluice tune study.yaml' or name another with --store", path));
  }
  if (disk.vfs.empty()) SLUICE_TRY(CheckOneName(path));
  SLUICE_ASSIGN(auto database, Database::Open(path, Database::Mode::kRead, disk));
  SLUICE_ASSIGN(const int version, SchemaVersion(*database));
  if (version == 0) return NotFound(fmt::format("{}: the store is empty", path));
  return database;
}

Result<std::unique_ptr<Database>> OpenStoreForWriting(const std::string& path, const Disk& disk) {
  // The file is read before anything is written, so that a file of another program or of a newer
  // version stays as it is. Only a crash while a store is made leaves a rollback journal. A file
  // with a journal cannot be read before SQLite has rolled the journal back.
  std::unique_ptr<Database> peek;
  if (Database::Exists(path, disk) && !Database::Exists(path + "-journal", disk)) {
    SLUICE_ASSIGN(peek, Database::Open(path, Database::Mode::kRead, disk));
    SLUICE_TRY(SchemaVersion(*peek));
  }
  SLUICE_ASSIGN(auto database, Database::Open(path, Database::Mode::kCreate, disk));
  SLUICE_ASSIGN(const int version, SchemaVersion(*database));
  // `peek` is closed only now, so that both connections share the index of the log, which is slow
  // to build after a crash.
  peek.reset();
  // The setting EXTRA makes SQLite sync the folder when it removes the rollback journal, as it
  // switches the store to its log. Without that, the journal could come back after a power cut, and
  // would undo everything that was written since.
  SLUICE_TRY(database->Execute(
      "PRAGMA synchronous = EXTRA; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
      "PRAGMA wal_autocheckpoint = 4000"));
  if (Planted("no-sync")) SLUICE_TRY(database->Execute("PRAGMA synchronous = OFF"));
  SLUICE_TRY(Migrate(*database, version));
  return database;
}

}  // namespace sluice
