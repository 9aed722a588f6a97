#pragma once

#include <string>

#include "base/result.h"

namespace sluice {

// A new file that gets its name only once it is complete. It never replaces an existing file. The
// caller writes the file at `temporary` and then calls Commit. Without Commit, nothing is left.
class NewFile {
 public:
  // Makes the temporary file. Fails with failed_precondition if `path` exists.
  static Result<NewFile> Reserve(const std::string& path);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  const std::string& temporary() const { return temporary_; }
  // Syncs the file to the disk and then gives it its name. Fails with failed_precondition if
  // another process has made a file of that name since Reserve.
  Status Commit();

 private:
  NewFile(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}

  std::string path_;
  std::string temporary_;  // "": another NewFile has taken it over
};

}  // namespace sluice
