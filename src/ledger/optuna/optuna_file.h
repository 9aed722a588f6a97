#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ledger/database.h"

namespace sluice {

// An Optuna storage that is only read. The file is not trusted: it may come from anywhere. All
// reads see the file at one moment, even while Optuna writes. Error messages begin with the file's
// path, and speak of an Optuna storage, not of a Sluice store.
class OptunaFile {
 public:
  // Fails with
  // - not_found: there is no such file;
  // - invalid_argument: it is not an Optuna storage;
  // - failed_precondition: its schema is not kOptunaSchema, or it cannot be read;
  // - corruption: it is damaged.
  static Result<OptunaFile> Open(const std::string& path);

  Result<Statement> Prepare(std::string_view sql);
  Result<bool> Step(Statement& query) const;
  const std::string& path() const { return database_->path(); }

 private:
  explicit OptunaFile(std::unique_ptr<Database> database) : database_(std::move(database)) {}
  Status CheckTables();
  Status CheckVersion();
  std::unexpected<Error> Explain(Error error) const;
  std::unexpected<Error> Outdated(std::string_view found) const;

  std::unique_ptr<Database> database_;
};

}  // namespace sluice
