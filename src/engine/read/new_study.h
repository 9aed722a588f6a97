#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/study.h"

namespace sluice {

// What is looked at once, where a study is new, since it takes longer than reading one again may:
// what conditions and constraints leave of its space. `text` and `file` are those that ReadStudy
// made the spec of. Fails where no point satisfies the constraints, or nearly none; else returns
// what a user should know, one text each.
Result<std::vector<std::string>> CheckNewStudy(const StudySpec& spec, std::string_view text,
                                               std::string_view file);

}  // namespace sluice
