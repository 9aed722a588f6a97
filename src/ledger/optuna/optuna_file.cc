#include "ledger/optuna/optuna_file.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "ledger/optuna/optuna_schema.h"

namespace sluice {
namespace {

Status CheckFile(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    return NotFound(fmt::format("{}: no such file: name an Optuna storage", path));
  if (!std::filesystem::is_regular_file(status))
    return InvalidArgument(fmt::format(
        "{}: expected an Optuna storage, found something that is not a regular file", path));
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return FailedPrecondition(fmt::format("{}: cannot read it: mend its permissions", path));
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::array<char, kMagic.size()> begin{};
  file.read(begin.data(), begin.size());
  if (std::string_view(begin.data(), begin.size()) == kMagic) return {};
  return InvalidArgument(fmt::format(
      "{}: this file is not an SQLite file: name an Optuna storage in an SQLite file; a journal "
      "can be copied into one with optuna.copy_study",
      path));
}

}  // namespace

Result<OptunaFile> OptunaFile::Open(const std::string& path) {
  SLUICE_TRY(CheckFile(path));
  SLUICE_ASSIGN(auto database, Database::Open(path, Database::Mode::kRead));
  OptunaFile file(std::move(database));
  // Code that the file's schema brings along must not run.
  const Status begun =
      file.database_->Execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; BEGIN");
  if (!begun) return file.Explain(begun.error());
  SLUICE_TRY(file.CheckTables());
  SLUICE_TRY(file.CheckVersion());
  return file;
}

// An error of SQLite, worded for a file that is not the user's store.
std::unexpected<Error> OptunaFile::Explain(Error error) const {
  if (error.code != ErrorCode::kCorruption) return std::unexpected(std::move(error));
  return Corruption(fmt::format(
      "{}: the file is damaged: mend a copy of it with 'sqlite3 FILE .recover'", path()));
}

Result<Statement> OptunaFile::Prepare(std::string_view sql) {
  auto query = database_->Prepare(sql);
  if (query) return query;
  if (query.error().code != ErrorCode::kUnavailable) return Explain(std::move(query).error());
  return InvalidArgument(fmt::format("expected the tables of Optuna, found others: {}",
                                     std::move(query).error().message));
}

Result<bool> OptunaFile::Step(Statement& query) const {
  auto row = query.Step();
  if (!row) return Explain(std::move(row).error());
  return row;
}

Status OptunaFile::CheckTables() {
  SLUICE_ASSIGN(Statement query,
                Prepare("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
                        "name = ? AND sql LIKE 'CREATE TABLE%'"));
  for (const std::string_view table :
       {"version_info", "alembic_version", "studies", "study_directions", "study_system_attributes",
        "trials", "trial_params", "trial_values", "trial_intermediate_values",
        "trial_user_attributes", "trial_system_attributes"}) {
    query.Bind(1, table);
    SLUICE_TRY(Step(query));
    const bool found = query.Integer(0) == 1;
    query.Reset();
    if (found) continue;
    if (table == "alembic_version" || table == "trial_intermediate_values")
      return Outdated("an older one");
    return InvalidArgument(fmt::format(
        "{}: expected an Optuna storage, found an SQLite file of something else (it has no "
        "table '{}')",
        path(), table));
  }
  return {};
}

std::unexpected<Error> OptunaFile::Outdated(std::string_view found) const {
  return FailedPrecondition(
      fmt::format("{}: expected an Optuna storage of schema {} ({}), found {}: bring it forward "
                  "with 'optuna storage upgrade --storage sqlite:///{}', with Optuna 3.2 to 5",
                  path(), kOptunaSchema, kOptunaRevision, found, path()));
}

Status OptunaFile::CheckVersion() {
  SLUICE_ASSIGN(Statement schema, Prepare("SELECT schema_version FROM version_info LIMIT 1"));
  SLUICE_ASSIGN(const bool row, Step(schema));
  if (!row || schema.Integer(0) != kOptunaSchema) {
    return Outdated(row ? fmt::format("schema {}", schema.Integer(0)) : "no schema");
  }
  SLUICE_ASSIGN(Statement revision, Prepare("SELECT version_num FROM alembic_version LIMIT 1"));
  SLUICE_ASSIGN(const bool known, Step(revision));
  if (!known || revision.Text(0) != kOptunaRevision) {
    return Outdated(fmt::format("schema {} ({})", schema.Integer(0),
                                known ? revision.Text(0).substr(0, 32) : "no revision"));
  }
  return {};
}

}  // namespace sluice
