#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/view/terminal.h"
#include "model/network.h"
#include "model/shrink/parametrisation.h"
#include "model/shrink/shrink.h"

namespace sluice {

// A network, and a narrower network made from it. The original must outlive the Surrogate.
struct Surrogate {
  const model::Network& original;
  model::Shrunken narrow;
  model::Parametrisation plan;
  std::string rule;
  std::vector<std::string> notes;  // remarks for the user
};

// What 'sluice model show' prints. `notes` come after those of the widths.
std::string NetworkText(const model::Network& network, const std::vector<std::string>& notes,
                        const Terminal& terminal);

// What 'sluice model shrink' prints. `explain` adds a row for each parameter.
std::string SurrogateText(const Surrogate& surrogate, bool explain, const Terminal& terminal);
Result<std::string> SurrogateJson(const Surrogate& surrogate);

}  // namespace sluice
