#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace sluice::data {

// A file that appears under its name when Commit succeeds, whole and on the disk, and replaces what
// had that name. Until then it is written beside it, under a temporary name. Without a Commit
// nothing is left behind.
class WholeFile {
 public:
  // Fails with invalid_argument if the folder does not exist or `path` is a folder.
  static Result<WholeFile> Create(const std::string& path);

  WholeFile(WholeFile&& other) noexcept;
  WholeFile& operator=(WholeFile&&) = delete;
  ~WholeFile();

  Status WriteAt(std::uint64_t offset, std::span<const char> bytes);
  // After what was appended before. Not to be mixed with WriteAt.
  Status Append(std::span<const char> bytes);
  // The file's length becomes this; bytes that were not written are 0.
  Status Resize(std::uint64_t bytes);
  Status Commit();

  const std::string& path() const { return path_; }

 private:
  WholeFile(std::string path, std::string temporary, int descriptor);
  std::unexpected<Error> Failed(int error) const;

  std::string path_;
  std::string temporary_;  // "": there is none any more
  int descriptor_;
  std::uint64_t end_ = 0;  // of what was appended
};

}  // namespace sluice::data
