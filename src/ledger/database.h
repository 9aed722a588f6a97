#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sluice {

class Database;

// The disk that a database lies on, by the name of its SQLite VFS. An empty name is the machine's
// own disk.
struct Disk {
  std::string vfs;
  int page_bytes = 0;  // page size of a database made on it; 0: SQLite's default
};

std::string SqliteVersion();

// Call this before any call of SQLite outside of Database: SQLite takes some settings only before
// its first use. Database calls it by itself.
void SetUpSqlite();

// A prepared statement. Bind its parameters (numbered from 1), Step until that returns false, and
// Reset to use the statement again. Texts are copied when they are bound.
class Statement {
 public:
  Statement() = default;

  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, double value);  // NaN becomes NULL
  Statement& Bind(int index, std::string_view text);
  Statement& BindBlob(int index, std::string_view bytes);
  Statement& BindNull(int index);

  // Returns true if there is a row, and false at the end.
  Result<bool> Step();
  // Steps to the end and resets.
  Status Run();
  void Reset();

  bool IsNull(int column) const;
  std::int64_t Integer(int column) const;
  double Number(int column) const;          // NULL is NaN
  std::string_view Text(int column) const;  // valid until the next Step or Reset
  std::string_view Blob(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  Database* database_ = nullptr;
};

// An SQLite file. Errors say in plain words what is wrong with the file and what to do. Only one
// thread may use a Database at a time.
class Database {
 public:
  enum class Mode { kRead, kWrite, kCreate };

  static Result<std::unique_ptr<Database>> Open(const std::string& path, Mode mode,
                                                const Disk& disk = {});
  static bool Exists(const std::string& path, const Disk& disk = {});

  // Rows that the last INSERT, UPDATE or DELETE has changed.
  int changes() const;
  Result<Statement> Prepare(std::string_view sql);
  Status Execute(const std::string& sql);
  const std::string& path() const { return path_; }

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  Database() = default;
  Error LastError(int code) const;

  std::unique_ptr<sqlite3, Close> handle_;
  std::string path_;
};

}  // namespace sluice
