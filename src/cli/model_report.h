#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "model/graph.h"
#include "model/law.h"
#include "model/parametrisation.h"
#include "model/shrink.h"
#include "model/widths.h"

namespace sluice {

// A network that was read or built, and what is known of it.
struct KnownModel {
  model::Graph graph;
  std::vector<model::Law> laws;
  model::Widths widths;
  std::vector<std::string> notes = {};  // what a reader should know of it
};

// What 'sluice model show' prints.
std::string ModelText(const KnownModel& known, const Terminal& terminal);

struct SurrogateTextOptions {
  bool explain = false;  // a row for each parameter
  std::string rule;
};

// What 'sluice model shrink' prints.
std::string SurrogateText(const KnownModel& known, const model::Shrunken& narrow,
                          const model::Parametrisation& plan, const SurrogateTextOptions& options,
                          const Terminal& terminal);
Result<std::string> SurrogateJson(const KnownModel& known, const model::Shrunken& narrow,
                                  const model::Parametrisation& plan);

}  // namespace sluice
