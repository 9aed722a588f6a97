#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/study.h"
#include "engine/study_state.h"
#include "exec/study_world.h"

namespace sluice {

// What runs the trials of a study with `train`: the program sluice-trainer, and the files that it
// trains with.

// The path of sluice-trainer: beside this program, or in the folder that SLUICE_BIN_DIR names in a
// study's world. Fails with failed_precondition if it is not there.
Result<std::string> FindTrainer(const StudyWorld& world = CaptureWorld());

// The same data with paths that do not depend on the working folder. `folder` is the study's.
data::DataSpec DataIn(const data::DataSpec& spec, const std::string& folder);

// The networks that the study's trials can have, as model::OpenNetwork takes them from the study's
// folder. Fails with invalid_argument if a parameter makes them too many to look at.
Result<std::vector<std::string>> NetworksOf(const StudySpec& spec);

// Sizes and hashes of all files that the study trains with. `folder` is the study's.
Result<recipe::Recorded> RecordFiles(const StudySpec& spec, const std::string& folder);

// Fails with failed_precondition if a file is no longer what it was when the study was made.
Status CheckSameFiles(const Study& study);

// How sluice-trainer is started for a launch of the study.
struct TrainerStart {
  std::vector<std::string> program;
  std::string recipe;  // the text of the file that `program` names; empty: it names none
};
// `recipe_file` is where the recipe may be written, since a command line holds no long one.
TrainerStart StartOfTrainer(const Study& study, const std::string& trainer,
                            const std::string& recipe_file);

}  // namespace sluice
