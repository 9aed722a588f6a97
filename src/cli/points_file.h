#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "space/point_part.h"

namespace sluice {

// Readers of points that a user gives. A point may lack values. Each point is checked against the
// space: it must be possible to fill in what it lacks. Messages about a file say where the mistake
// is ("points.jsonl:3: lr: expected ..."), and one error reports several mistakes.

// Reads one point from words such as lr=0.1.
Result<PointPart> ReadAssignments(const std::vector<std::string>& words, const Space& space);

// Reads a file of points of at most 16 MiB. It is CSV with a header line if its name ends with
// ".csv", and otherwise has a JSON object per line.
Result<std::vector<PointPart>> ReadPointsFile(const std::string& path, const Space& space);

// Reads the text of such a file. `file` is its name, also in messages.
Result<std::vector<PointPart>> ParsePoints(std::string_view text, const std::string& file,
                                           const Space& space);

}  // namespace sluice
