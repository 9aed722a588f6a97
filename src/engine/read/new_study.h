#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/study.h"

namespace sluice {

// Checks that are made once, when a study is new: for likely mistakes in its text, and for what
// conditions and constraints leave of its space. They are not made when a stored study is read
// again: reading must be quick, and a stricter check must not make an old study unreadable. `text`
// and `file` are what ReadStudy made the spec from. Fails if something is wrong, for example if no
// point, or nearly none, satisfies the constraints. Otherwise returns remarks for the user, one
// text each.
Result<std::vector<std::string>> CheckNewStudy(const StudySpec& spec, std::string_view text,
                                               std::string_view file);

}  // namespace sluice
