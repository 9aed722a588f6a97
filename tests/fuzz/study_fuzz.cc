// rooms: sim

// Any bytes at all are a study or are refused with a message, and the same as a scenario, whose
// studies share the reader; never a crash, a hang or much memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "engine/read/templates.h"
#include "engine/study.h"
#include "sim/read/scenario.h"

namespace {

void AsStudy(std::string_view text) {
  const auto study = sluice::ReadStudy(text, "study.yaml", "study");
  if (!study) {
    if (!study.error().message.starts_with("study.yaml:")) std::abort();
    return;
  }
  // What was accepted can be run.
  if (study->trials < 1 || study->space.size() == 0) std::abort();
  if (study->program.empty() == !study->training) std::abort();
  if (study->training) {  // the trainer reads what was accepted
    const std::string recipe = sluice::recipe::ToJson(*study->training);
    const auto again = sluice::recipe::RecipeFromJson(recipe);
    if (!again || sluice::recipe::ToJson(*again) != recipe) std::abort();
    if (again->length < 1 || !sluice::recipe::CheckRecipe(*again).empty()) std::abort();
  }
  if (!sluice::CheckStudyName(study->name)) std::abort();
  sluice::ExpandProgram(study->program, {}, {{"args", {"--a=1"}}});
  for (const auto& [name, value] : study->environment) sluice::Expand(value, {});
}

void AsScenario(std::string_view text) {
  const auto scenario = sluice::ReadScenario(text, "study.yaml", "study");
  if (!scenario) {
    if (!scenario.error().message.starts_with("study.yaml:")) std::abort();
    return;
  }
  if (scenario->nodes.empty() || scenario->studies.empty() || scenario->seeds < 1) std::abort();
  for (const std::string& label : scenario->compare) {
    if (!sluice::ScenarioUnder(*scenario, label)) std::abort();
  }
  for (const sluice::NodeFailure& failure : scenario->failures) {
    if (!sluice::IsSet(failure.node) || sluice::Number(failure.node) > scenario->nodes.size())
      std::abort();
  }
  std::vector<sluice::ScenarioStudy> studies = scenario->studies;
  for (const sluice::ScenarioPolicy& policy : scenario->policies) {
    if (policy.studies.empty() || policy.studies.size() > scenario->studies.size()) std::abort();
    studies.insert(studies.end(), policy.studies.begin(), policy.studies.end());
  }
  for (const sluice::ScenarioStudy& study : studies) {
    if (study.spec.trials < 1 || study.spec.space.size() == 0) std::abort();
    if (!(study.workload.seconds_per_unit > 0) || study.workload.report_every < 1) std::abort();
    const sluice::Point point =
        study.spec.space.FromUnit(std::vector<double>(study.spec.space.size(), 0.5));
    sluice::LearningCurves(study.curve, study.spec, 1).Of(point).At(3);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  AsStudy(text);
  AsScenario(text);
  return 0;
}
