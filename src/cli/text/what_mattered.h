#pragma once

#include <string>

#include "cli/view/terminal.h"
#include "ledger/reader.h"
#include "search/importance.h"
#include "space/space.h"

namespace sluice {

// How much each parameter of a study has influenced the results so far.
struct WhatMattered {
  Space space;
  Importance importance;

  bool known() const { return importance.reason.empty(); }
};

// Reads the study's trials; in a large study, a sample of them. If the store cannot be read, or if
// there are too few trials, `importance.reason` says so, and no parameter has a share.
WhatMattered LookWhatMattered(Reader& reader, const StudyInfo& study);

// The parameters that mattered most, the most important first: "lr 62 %, width 21 %". Empty if
// there are no shares.
std::string DescribeMattered(const WhatMattered& mattered);
// A line for each parameter that is worth a mention: its share in percent and as a bar, the values
// of the best trials, and whether higher or lower values are better. Empty if there are no shares.
std::string MatteredLines(const WhatMattered& mattered, const Terminal& terminal,
                          const std::string& indent);
// A JSON object with the share of each parameter, in the order of the space; "null" if there are no
// shares.
std::string MatteredJson(const WhatMattered& mattered);

}  // namespace sluice
