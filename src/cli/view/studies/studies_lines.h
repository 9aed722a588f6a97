#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/text/styled_line.h"
#include "cli/view/studies/studies_view.h"

namespace sluice {

// A line for each study: its name, state, trials, best value, and the time left or why it ended. No
// line is wider than the terminal. There are at most `rows` - 2 lines, but at least one; the last
// one may say how many studies are not shown.
std::vector<std::string> RenderStudies(std::span<const SeenStudy> studies, const Medium& medium,
                                       int rows);

}  // namespace sluice
