#pragma once

#include <string>

#include "base/result.h"

namespace sluice {

// A file that appears whole under a name that was free, or not at all: a file that another process
// put there is never replaced. The caller has the file written at `temporary`.
class NewFile {
 public:
  // Fails with failed_precondition if there is something of this name.
  static Result<NewFile> Reserve(const std::string& path);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  const std::string& temporary() const { return temporary_; }
  // Syncs the file to the disk and then gives it its name.
  Status Commit();

 private:
  NewFile(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}

  std::string path_;
  std::string temporary_;  // "": there is none any more
};

}  // namespace sluice
