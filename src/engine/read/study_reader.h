#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "engine/study.h"

namespace sluice {

// Options for reading a study that is part of a larger file.
struct StudyPart {
  std::string default_name;  // of a study that does not state its name
  bool needs_program = true;
  std::vector<std::string> more_keys = {};  // keys that the caller reads itself
  std::int64_t memory_bytes = 0;            // GPU memory of each trial, unless the study states it
};

// Reads a study from a map of a file; the map has the keys of a study file. Mistakes are reported
// to the file, and the spec must then not be used.
StudySpec ReadStudyPart(const ConfigNode& node, const ConfigMap& map, const StudyPart& part);

}  // namespace sluice
