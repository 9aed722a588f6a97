#pragma once

#include <string>

#include "base/result.h"

namespace sluice {

// A file that appears whole under a name that was free, or not at all: what others may have put
// there is never replaced. Somebody else writes it, at `temporary`.
class NewFile {
 public:
  // Fails with failed_precondition if there is something of this name.
  static Result<NewFile> Reserve(const std::string& path);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  const std::string& temporary() const { return temporary_; }
  // Gives it its name, once its bytes are on the disk.
  Status Commit();

 private:
  NewFile(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}

  std::string path_;
  std::string temporary_;  // "": there is none any more
};

}  // namespace sluice
