#include "sim/read/scenario_study_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "engine/read/study_reader.h"
#include "sim/read/profile.h"
#include "sim/read/workload_reader.h"

namespace sluice {
namespace {

// Keys of a study whose values are maps, which are merged key by key.
const std::vector<std::string>& Sections() {
  static const auto& sections = *new std::vector<std::string>{"workload", "resources", "budget"};
  return sections;
}

// The GPU memory of a trial, as a profile measures it; 0 if the study is not profiled. Policies
// that must know a trial's memory accept this value.
std::int64_t ProfiledBytes(const ConfigMap& map) {
  const ConfigNode* node = map.Find("workload");
  const auto work = node != nullptr && node->is_map() ? node->Map() : std::nullopt;
  const ConfigNode* profiled = work ? work->Find("profiled") : nullptr;
  const ConfigNode* memory = work ? work->Find("memory") : nullptr;
  if (profiled == nullptr || memory == nullptr || !profiled->Boolean().value_or(false)) return 0;
  return memory->SizeBytes().value_or(0);
}

// Reports settings that a study may have but a simulation cannot carry out.
void CheckSimulated(const ConfigNode& item, const ConfigMap& map, const ScenarioStudy& study) {
  const StudySpec& spec = study.spec;
  if (spec.deadline_at) {
    map.Find("deadline")
        ->Expected("a duration since the study arrives", "simulated time has no calendar");
  }
  if (const ConfigNode* node = map.Find("warm_start"))
    node->Report("a simulated study has no earlier one to begin from; remove the key");
  for (const StopAt& goal : spec.stop_at) {
    if (goal.metric == spec.objective.metric) continue;
    map.Find("stop_at")->Report(
        fmt::format("expected the objective {}, found {}: simulated trials report nothing else",
                    spec.objective.metric, Shown(goal.metric)));
  }
  const WorkloadSpec& work = study.workload;
  const std::int64_t length = work.ends_after > 0
                                  ? std::min(work.ends_after, spec.stopper.max_budget)
                                  : spec.stopper.max_budget;
  if (length == kNoLimit) {
    item.Report(
        "expected the length of a trial, found neither a budget nor an end; add "
        "'budget: {max: 27}', or 'ends_after: 27' to its workload");
  } else if (length / work.report_every > kMostReportsOfATrial) {
    const ConfigNode* budget = map.Find("budget");
    (budget != nullptr ? *budget : item)
        .Report(fmt::format("expected at most {} reports of a trial, found {}; add "
                            "'report_every: {}' to its workload",
                            kMostReportsOfATrial, length / work.report_every,
                            length / kMostReportsOfATrial + 1));
  }
}

// Checks that a trial that may be fused onto a lent device makes progress there.
void CheckBubbles(const ConfigNode& item, const ConfigMap& map, const ScenarioStudy& study,
                  const Scenario& scenario) {
  const Demand& demand = study.spec.demand;
  if (demand.gpus == 0 || demand.fused_most == 1 || !demand.lent) return;
  const auto is_short = [&](const auto& lender) {
    const auto& [job, stage] = lender.second;
    return scenario.pipeline_jobs[job].usable_share(stage, study.workload.segment) == 0;
  };
  const auto found = std::ranges::find_if(scenario.lenders, is_short);
  if (found == scenario.lenders.end()) return;
  const ConfigNode* workload = map.Find("workload");
  (workload != nullptr ? *workload : item)
      .Report(
          fmt::format("expected segments that end within a bubble of stage {} of '{}', found "
                      "{:.4g} ms each; set a shorter 'segment', or 'resources: {{lent: false}}'",
                      found->second.stage, scenario.pipeline_jobs[found->second.job].spec().name,
                      Seconds(study.workload.segment) * 1e3));
}

}  // namespace

std::optional<ScenarioStudy> ReadScenarioStudy(const ConfigNode& item, const StudyLayers& around,
                                               const Scenario& scenario) {
  const auto own = item.Map();
  if (!own) return std::nullopt;
  std::vector<ConfigMap> layers = around.above;
  layers.push_back(*own);
  if (around.below) layers.push_back(*around.below);
  const ConfigMap map = ConfigMap::Layered(item, layers, Sections());
  ScenarioStudy study;
  study.line = item.line();
  study.spec = ReadStudyPart(item, map,
                             {.default_name = around.default_name,
                              .needs_program = false,
                              .more_keys = {"workload", "arrives"},
                              .memory_bytes = ProfiledBytes(map)});
  const ConfigNode* workload =
      map.Require("workload", "what the study's trials do", "add 'workload: {unit_time: 20s}'");
  auto [work, curve] = ReadWorkload(workload, study.spec);
  study.workload = std::move(work);
  study.curve = std::move(curve);
  if (study.workload.profiled) AddProfile(study.workload, scenario.nodes, study.spec);
  if (const ConfigNode* node = map.Find("arrives"))
    study.arrives = node->Duration().value_or(study.arrives);
  CheckSimulated(item, map, study);
  CheckBubbles(item, map, study, scenario);
  return study;
}

}  // namespace sluice
