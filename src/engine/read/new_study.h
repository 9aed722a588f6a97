#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/study.h"

namespace sluice {

// Checks that are made once, when a study is new: likely mistakes in its text, and what conditions
// and constraints leave of its space. They are not made when a stored study is read again: they
// take longer than that may, and a stricter check must not make an old study unreadable. `text` and
// `file` are those that ReadStudy made the spec of. Fails where something is wrong, as where no
// point satisfies the constraints, or nearly none. Otherwise returns what a user should know, one
// text each.
Result<std::vector<std::string>> CheckNewStudy(const StudySpec& spec, std::string_view text,
                                               std::string_view file);

}  // namespace sluice
