#include "sim/world/simulated_study.h"

#include <utility>

#include "engine/points.h"

namespace sluice {

Result<SimulatedStudies> MakeSimulatedStudies(const Scenario& scenario, std::uint64_t seed) {
  SimulatedStudies made;
  const Random seeds = Random(seed).Fork("study");
  for (const ScenarioStudy& study : scenario.studies) {
    const StudySpec& spec = study.spec;
    const auto id = StudyId(static_cast<std::uint32_t>(made.size() + 1));
    const std::uint64_t study_seed = spec.seed.value_or(seeds.Fork(spec.name).Next() >> 1);
    SLUICE_ASSIGN(auto sampler, MakeSampler(spec.sampler, spec.space, study_seed));
    SLUICE_ASSIGN(auto points, FillInAll(spec.space, spec.enqueue, study_seed, 0));
    Event report{{},
                 Reported{.trial = {id, {}},
                          .launch = {},
                          .position = {},
                          .work = 0,
                          .metrics = {{spec.objective.metric, 0}}}};
    made.push_back(std::make_unique<SimulatedStudy>(SimulatedStudy{
        .study = &study,
        .id = id,
        .created = {.study = id, .source = "", .folder = "", .seed = study_seed, .spec = spec},
        .enqueued = {.study = id, .points = std::move(points)},
        .speed = TrueSpeed(study.workload),
        .curves = LearningCurves(study.curve, spec, seed),
        .sampler = std::move(sampler),
        .learns = Learns(spec.sampler.name),
        .trials = Random(seed).Fork("trials").Fork(spec.name),
        .checkpoints = {},
        .report = std::move(report)}));
  }
  return made;
}

}  // namespace sluice
