#pragma once

#include <string>
#include <vector>

#include "model/analyse/law.h"
#include "model/graph.h"
#include "model/shrink/widths.h"

namespace sluice::model {

// The version of the form below. It is raised when programs that read the earlier form would
// misread the new form.
constexpr int kGraphJsonVersion = 1;

// The whole graph as one line of JSON; docs/models.md lists its members. `laws` are in the order of
// the parameters. `notes` come after those of the widths.
std::string GraphJson(const Graph& graph, const Widths& widths, const std::vector<Law>& laws,
                      const std::vector<std::string>& notes = {});

}  // namespace sluice::model
