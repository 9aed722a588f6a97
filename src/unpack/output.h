#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/tensors/whole_file.h"

namespace sluice::unpack {

// Is told, from time to time, how many bytes of a file were written. An error ends the import.
using ImportProgress = std::function<Status(std::string_view name, std::uint64_t bytes)>;

struct ImportedFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string from;  // the name of its source
};

// Writes the files of an import into a folder, each under a name of its own, no more bytes in all
// than it may.
class Output {
 public:
  Output(std::string folder, std::uint64_t most_bytes, const ImportProgress& progress)
      : folder_(std::move(folder)), room_bytes_(most_bytes), progress_(progress) {}

  // Begins a file. Fails with invalid_argument if the name is not that of a file, or is taken.
  Status Begin(const std::string& name, const std::string& from);
  Status Write(std::span<const char> bytes);
  // The file is whole, and on the disk.
  Status End();

  // How many bytes may still be written.
  std::uint64_t room_bytes() const { return room_bytes_; }
  const std::vector<ImportedFile>& files() const { return files_; }

 private:
  std::string folder_;
  std::uint64_t room_bytes_;
  const ImportProgress& progress_;
  std::vector<data::WholeFile> open_;  // the file that was begun, if any
  std::vector<ImportedFile> files_;
};

}  // namespace sluice::unpack
