#pragma once

#include <string>

#include "base/result.h"

namespace sluice::unpack {

// A folder that appears under its name, whole, when Commit succeeds. Until then it is filled beside
// it, under a temporary name. Without a Commit nothing is left behind.
class NewFolder {
 public:
  // Fails with failed_precondition if there is something of this name, unless `replace` is set and
  // it is a folder whose files are all among those that its record (kRecord) names: a folder that
  // was made by an import and that nothing was added to. Fails with invalid_argument if the folder
  // around it does not exist.
  static Result<NewFolder> Create(const std::string& path, bool replace);

  NewFolder(NewFolder&& other) noexcept;
  NewFolder& operator=(NewFolder&&) = delete;
  ~NewFolder();

  const std::string& temporary() const { return temporary_; }
  // Writes the record, syncs the folder and gives it its name. A folder that it replaces is
  // removed. The files were synced before.
  Status Commit(const std::string& record_json);

  // The file in a folder that says what was imported. Its member `files` names all others.
  static constexpr const char* kRecord = "sluice-data.json";

 private:
  NewFolder(std::string path, std::string temporary, bool replaces)
      : path_(std::move(path)), temporary_(std::move(temporary)), replaces_(replaces) {}

  std::string path_;
  std::string temporary_;  // "": there is none any more
  bool replaces_;
};

}  // namespace sluice::unpack
