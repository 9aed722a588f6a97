#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/study.h"

namespace sluice {

// Checks that are made once, when a study is new: likely mistakes in its text, and what conditions
// and constraints leave of its space. They are not made when a stored study is read again, which
// must be quick. Nor may a stricter check make an old study unreadable. `text` and `file` are those
// that ReadStudy made the spec of. Fails if something is wrong, for example if no point, or nearly
// none, satisfies the constraints. Otherwise returns what a user should know, one text each.
Result<std::vector<std::string>> CheckNewStudy(const StudySpec& spec, std::string_view text,
                                               std::string_view file);

}  // namespace sluice
