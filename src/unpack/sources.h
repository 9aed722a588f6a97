#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::unpack {

enum class SourceKind {
  kPlain,   // the trainer can read it as it is
  kGzip,    // a packed file
  kNpz,     // several .npy files in a zip file
  kSheet,   // a PNG picture with an image in each of its rows
  kLabels,  // a JSON list of whole numbers, for sheets
};

// A file that is to be imported.
struct Source {
  std::string path;
  std::string name;  // without folders
  SourceKind kind = SourceKind::kPlain;
};

// The files that these paths name, in the order given, those of a folder in natural order. What a
// file is, its first bytes say, or its name. In a folder, files that are no data are left out.
// Fails with invalid_argument if a named file is no data, or if there is nothing to import.
Result<std::vector<Source>> FindSources(const std::vector<std::string>& paths);

}  // namespace sluice::unpack
