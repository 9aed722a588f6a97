#include "engine/new_study.h"

#include "config/config.h"
#include "space/feasibility.h"

namespace sluice {

Result<std::vector<std::string>> CheckNewStudy(const StudySpec& spec, std::string_view text,
                                               std::string_view file) {
  const Feasibility found = Examine(spec.space);
  if (const Status status = CheckFeasible(spec.space, found); !status) {
    // For the line where they stand.
    SLUICE_ASSIGN(const ConfigFile config, ConfigFile::Parse(text, file));
    const auto map = config.root().Map();
    const ConfigNode* constraints = map ? map->Find("constraints") : nullptr;
    (constraints != nullptr ? *constraints : config.root().Named("constraints"))
        .Report(status.error().message);
    SLUICE_TRY(config.Check());
  }
  return Remarks(spec.space, found);
}

}  // namespace sluice
