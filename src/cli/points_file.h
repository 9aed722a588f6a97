#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "space/point_part.h"

namespace sluice {

// Points that a user gives, checked against the space: missing values of each can be filled in.
// Messages say where ("points.jsonl:3: lr: expected ..."), several of them at once.

// Words such as lr=0.1, which make one point.
Result<PointPart> ReadAssignments(const std::vector<std::string>& words, const Space& space);

// A file of points: CSV with a header line if it is called *.csv, else a JSON object a line. At
// most 16 MiB.
Result<std::vector<PointPart>> ReadPointsFile(const std::string& path, const Space& space);

// The same for the text of such a file. `file` is what messages call it.
Result<std::vector<PointPart>> ParsePoints(std::string_view text, const std::string& file,
                                           const Space& space);

}  // namespace sluice
