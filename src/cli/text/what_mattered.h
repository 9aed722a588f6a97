#pragma once

#include <string>

#include "cli/view/terminal.h"
#include "ledger/reader.h"
#include "search/importance.h"
#include "space/space.h"

namespace sluice {

// How much each parameter of a study had to do with its results so far.
struct WhatMattered {
  Space space;
  Importance importance;

  bool known() const { return importance.reason.empty(); }
};

// Reads the study's trials; of a large study, a sample of them. If the store cannot be read, or the
// trials are not enough, there are no shares and `importance` has the reason.
WhatMattered LookWhatMattered(Reader& reader, const StudyInfo& study);

// The parameters that mattered most, in order: "lr 62 %, width 21 %". Empty if nothing is known.
std::string DescribeMattered(const WhatMattered& mattered);
// A line for each parameter, with a bar, the direction if there is one, and where the best trials
// lie. Empty if nothing is known.
std::string MatteredLines(const WhatMattered& mattered, const Terminal& terminal,
                          const std::string& indent);
// An object of shares by name in the order of the space, or null.
std::string MatteredJson(const WhatMattered& mattered);

}  // namespace sluice
