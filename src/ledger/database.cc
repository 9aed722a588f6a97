#include "ledger/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

#include "base/check.h"

namespace sluice {
namespace {

Error Explain(const std::string& path, int code, int system_errno, const char* detail) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {ErrorCode::kUnavailable,
              fmt::format("{}: the disk is full; nothing that was acknowledged is lost: free some "
                          "space and resume",
                          path)};
    case SQLITE_IOERR:
      if (system_errno == ENOSPC || system_errno == EDQUOT)
        return Explain(path, SQLITE_FULL, 0, detail);
      return {ErrorCode::kUnavailable,
              fmt::format("{}: reading or writing failed ({}): check the disk, then resume", path,
                          system_errno != 0 ? std::strerror(system_errno) : detail)};
    case SQLITE_NOTADB:
      return {ErrorCode::kCorruption,
              fmt::format("{}: this file is not a Sluice store: name another with --store", path)};
    case SQLITE_CORRUPT:
      return {ErrorCode::kCorruption, fmt::format("{}: the store is damaged ({}): restore it from "
                                                  "a copy, or save what can be read with "
                                                  "sqlite3 FILE .recover",
                                                  path, detail)};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kUnavailable, fmt::format("{}: the store is busy: try again", path)};
    case SQLITE_READONLY:
      if (code == SQLITE_READONLY_ROLLBACK) {
        return {ErrorCode::kFailedPrecondition,
                fmt::format("{}: the store was interrupted while it was made: run 'sluice tune "
                            "study.yaml' again",
                            path)};
      }
      [[fallthrough]];
    case SQLITE_PERM:
      return {ErrorCode::kFailedPrecondition,
              fmt::format("{}: no permission to write the store: mend its permissions or name "
                          "another with --store",
                          path)};
    case SQLITE_CANTOPEN:
      return {ErrorCode::kFailedPrecondition,
              fmt::format("{}: cannot open the store ({}): check that its folder exists and can be "
                          "written, or name "
                          "another with --store",
                          path, system_errno != 0 ? std::strerror(system_errno) : detail)};
    default: return {ErrorCode::kUnavailable, fmt::format("{}: {}", path, detail)};
  }
}

}  // namespace

void SetUpSqlite() {
  // SQLite's count of its memory is not used, and counting takes a lock for every allocation.
  [[maybe_unused]] static const int code = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

std::string SqliteVersion() { return sqlite3_libversion(); }

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Statement& Statement::Bind(int index, std::int64_t value) {
  SLUICE_CHECK(sqlite3_bind_int64(statement_.get(), index, value) == SQLITE_OK,
               "the parameter exists");
  return *this;
}

Statement& Statement::Bind(int index, double value) {
  SLUICE_CHECK(sqlite3_bind_double(statement_.get(), index, value) == SQLITE_OK,
               "the parameter exists");
  return *this;
}

Statement& Statement::Bind(int index, std::string_view text) {
  const int code = sqlite3_bind_text64(statement_.get(), index, text.empty() ? "" : text.data(),
                                       text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  SLUICE_CHECK(code == SQLITE_OK, "the parameter exists, and the text is not too long for SQLite");
  return *this;
}

Statement& Statement::BindBlob(int index, std::string_view bytes) {
  const int code = sqlite3_bind_blob64(statement_.get(), index, bytes.empty() ? "" : bytes.data(),
                                       bytes.size(), SQLITE_TRANSIENT);
  SLUICE_CHECK(code == SQLITE_OK, "the parameter exists, and the blob is not too long for SQLite");
  return *this;
}

Statement& Statement::BindNull(int index) {
  SLUICE_CHECK(sqlite3_bind_null(statement_.get(), index) == SQLITE_OK, "the parameter exists");
  return *this;
}

Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return std::unexpected(database_->LastError(code));
}

Status Statement::Run() {
  Result<bool> row = Step();
  while (row && *row) row = Step();
  Reset();
  if (!row) return std::unexpected(std::move(row).error());
  return {};
}

void Statement::Reset() { sqlite3_reset(statement_.get()); }

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::Number(int column) const {
  if (IsNull(column)) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string_view Statement::Blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Result<std::unique_ptr<Database>> Database::Open(const std::string& path, Mode mode,
                                                 const Disk& disk) {
  SetUpSqlite();
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= mode == Mode::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == Mode::kCreate) flags |= SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  errno = 0;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, flags, disk.vfs.empty() ? nullptr : disk.vfs.c_str());
  auto database = std::unique_ptr<Database>(new Database);
  database->handle_.reset(handle);
  database->path_ = path;
  if (code != SQLITE_OK) return std::unexpected(database->LastError(code));
  sqlite3_busy_timeout(handle, 5000);
  if (mode == Mode::kCreate && disk.page_bytes > 0)
    SLUICE_TRY(database->Execute(fmt::format("PRAGMA page_size = {}", disk.page_bytes)));
  return database;
}

bool Database::Exists(const std::string& path, const Disk& disk) {
  std::error_code ignored;
  // On the machine's own disk, SQLite's xAccess says that an empty file does not exist.
  if (disk.vfs.empty()) return std::filesystem::exists(path, ignored);
  SetUpSqlite();
  sqlite3_vfs* vfs = sqlite3_vfs_find(disk.vfs.c_str());
  int found = 0;
  return vfs != nullptr &&
         vfs->xAccess(vfs, path.c_str(), SQLITE_ACCESS_EXISTS, &found) == SQLITE_OK && found != 0;
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return std::unexpected(LastError(code));
  Statement statement;
  statement.statement_.reset(raw);
  statement.database_ = this;
  return statement;
}

int Database::changes() const { return sqlite3_changes(handle_.get()); }

Status Database::Execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(LastError(code));
  return {};
}

Error Database::LastError(int code) const {
  const int system_errno = handle_ ? sqlite3_system_errno(handle_.get()) : errno;
  return Explain(path_, code, system_errno,
                 handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code));
}

}  // namespace sluice
