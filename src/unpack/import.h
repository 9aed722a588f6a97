#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "unpack/output.h"

namespace sluice::unpack {

struct ImportOptions {
  std::vector<std::string> sources;  // files and folders
  std::string output;                // a folder
  bool replace = false;              // what an earlier import made
  std::uint64_t most_bytes = 0;      // of all that is written
};

// What the trainer will find in the folder.
struct FoundData {
  std::string kind;
  std::string input;  // as in "uint8 [1, 28, 28]"
  std::string target;
  std::int64_t classes = 0;  // 0: targets are numbers
  std::int64_t train = 0;    // how many examples
  std::int64_t validation = 0;
  std::int64_t test = 0;
};

struct Imported {
  std::vector<ImportedFile> files;
  // Nothing if the files alone do not tell: `note` says what a study must say then.
  std::optional<FoundData> found;
  std::string note;
};

// Unpacks sources into plain files in a new folder, checks them as the trainer would, and puts the
// folder in place. It appears whole, or not at all. Fails with invalid_argument, not_found or
// corruption if a source is not as it should be, with failed_precondition if the folder exists,
// with unavailable if it cannot be written.
Result<Imported> Import(const ImportOptions& options, const ImportProgress& progress);

}  // namespace sluice::unpack
