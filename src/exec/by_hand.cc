#include "exec/by_hand.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "engine/study.h"
#include "exec/launch_folder.h"
#include "exec/spawn.h"
#include "exec/study_world.h"
#include "ledger/optuna/optuna_study_file.h"

namespace sluice {
namespace {

// Whether only a launch has this variable: it says how to reach the controller, or which part of
// the machine the launch may use.
bool IsOfLaunch(const std::string& variable) {
  return variable == "SLUICE_SOCKET" || variable == "SLUICE_WORKER" ||
         variable == "SLUICE_TRIAL_FILE" || variable == "SLUICE_LAUNCH" ||
         variable == "CUDA_VISIBLE_DEVICES" || variable.ends_with("_NUM_THREADS");
}

Result<LaunchPlan> PlanByHand(Reader& reader, const StudyInfo& info, const TrialInfo& row,
                              const std::string& scratch) {
  SLUICE_ASSIGN(const std::string source, reader.Source(info.id));
  Study study;
  SLUICE_ASSIGN(study.spec, ReadStudy(source, info.name, info.name));
  SLUICE_TRY(CheckHasProgram(study.spec));
  if (study.spec.training) {
    return FailedPrecondition(
        fmt::format("study '{0}' has no program of its own to run, since sluice-trainer trains its "
                    "trials together: 'sluice best {0}' prints the parameters",
                    info.name));
  }
  study.spec.name = info.name;
  study.seed = info.seed;
  Trial trial;
  trial.id = row.id;
  trial.launch.id = row.launch;
  SLUICE_ASSIGN(trial.point, study.spec.space.Decode(row.params));
  // This run starts from scratch, and trains as far as the trial has come.
  trial.target = row.work > 0 ? row.work : kNoLimit;
  LaunchPlan plan =
      PlanLaunch(study, trial, Node{}, {.folder = scratch, .checkpoint = scratch + "/checkpoint"},
                 {}, CaptureWorld());
  std::erase_if(plan.environment, [&](const auto& variable) {
    return IsOfLaunch(variable.first) && !study.spec.environment.contains(variable.first);
  });
  return plan;
}

}  // namespace

Status BecomeProgramOf(Reader& reader, const StudyInfo& study, const TrialInfo& trial,
                       const std::string& scratch) {
  SLUICE_ASSIGN(LaunchPlan plan, PlanByHand(reader, study, trial, scratch));
  SLUICE_TRY(WriteFile(scratch + "/trial.json", wire::Encode(wire::ToWorker(plan.assign))));
  SLUICE_TRY(WriteFile(scratch + "/params.json", plan.params));
  if (chdir(study.folder.c_str()) != 0)
    return FailedPrecondition(fmt::format("{}: {}", study.folder, std::strerror(errno)));
  unsetenv("SLUICE_TRIAL_FILE");  // set if a trial started this process
  for (const auto& [name, value] : plan.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (std::string& item : plan.program) arguments.push_back(item.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return FailedPrecondition(
      fmt::format("cannot start '{}': {}", plan.program.front(), std::strerror(errno)));
}

}  // namespace sluice
