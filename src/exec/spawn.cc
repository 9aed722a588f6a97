#include "exec/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "control/assignment.h"
#include "engine/read/arguments_codec.h"
#include "engine/read/templates.h"
#include "exec/trainer.h"
#include "launcher/launcher.h"
#include "launcher/process.h"
#include "launcher/process_limits.h"

namespace sluice {
namespace {

// Numerical libraries read from these variables how many threads to start. So trials that run side
// by side do not compete for cores.
constexpr const char* kThreadVariables[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                            "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"};

// Whether a variable belongs to the trial in which the user started the study, if a trial did that.
// Such variables must not reach the trials of the study.
bool IsOfOuterTrial(const std::string& variable) {
  return variable == kProgramLimits || variable == "SLUICE_BUDGET" ||
         variable == "SLUICE_OWNER_PID" || variable == "SLUICE_ASSIGN" || variable == kMarks;
}

std::vector<std::string> Merge(const std::vector<std::string>& environment,
                               const std::map<std::string, std::string>& over) {
  std::vector<std::string> merged;
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('='));
    if (!over.contains(name) && !IsOfOuterTrial(name)) merged.push_back(variable);
  }
  for (const auto& [name, value] : over) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

// The environment of the launcher. The marks are those of the launchers above this process, since
// they say which processes a launcher has below it, wherever the user started the study.
std::vector<std::string> LauncherEnvironment(const SpawnRequest& request) {
  std::vector<std::string> environment = Merge(request.world.environment, request.environment);
  environment.push_back(fmt::format("{}={}", kProgramLimits, FormatLimits(request.world.limits)));
  if (const char* marks = std::getenv(kMarks))
    environment.push_back(fmt::format("{}={}", kMarks, marks));
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string Devices(const Grant& grant, const Node& node) {
  std::vector<std::string> uuids;
  for (DeviceId device : grant.devices) {
    if (Number(device) < node.devices.size()) uuids.push_back(node.devices[Number(device)].uuid);
  }
  return fmt::format("{}", fmt::join(uuids, ","));
}

// PYTHONPATH with the folder of the package at its end, for a Python in which the package is not
// installed.
std::string PythonPath(const StudyWorld& world) {
  const std::string own = world.Find("PYTHONPATH").value_or("");
  return own.empty() ? SLUICE_PYTHON_DIR : fmt::format("{}:{}", own, SLUICE_PYTHON_DIR);
}

// Whether a PYTHONPATH has the folder of the package. A study's own PYTHONPATH may lack it.
bool WithPackage(std::string_view path) {
  return fmt::format(":{}:", path).contains(fmt::format(":{}:", SLUICE_PYTHON_DIR));
}

// Whether a trial's `import wandb` finds the stand-in that the package has instead of the real
// wandb.
bool UsesStandIn(const StudySpec& spec, const StudyWorld& world) {
  const bool real = world.Find("SLUICE_WANDB") == "real";
  return spec.sweep && !spec.sweep->real_wandb && !real;
}

// Adds the values of the environment variables that the study's templates name.
void AddEnvironment(const StudySpec& spec, const StudyWorld& world, TemplateValues& values) {
  const auto add = [&](std::string_view text) {
    for (const std::string& name : EnvironmentWords(text))
      values["envvar:" + name] = world.Find(name).value_or("");
  };
  for (const std::string& item : spec.program) add(item);
  for (const auto& [name, text] : spec.environment) add(text);
}

}  // namespace

Result<Spawned> Spawn(const SpawnRequest& request) {
  std::vector<std::string> arguments = {request.launcher, request.folder,
                                        std::to_string(request.grace.count() / 1000),
                                        std::to_string(request.output_cap_bytes)};
  arguments.insert(arguments.end(), request.program.begin(), request.program.end());
  std::vector<std::string> environment = LauncherEnvironment(request);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addchdir_np(&actions, request.working_folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Signals are blocked until the launcher is ready for them.
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  Spawned spawned;
  const int error = posix_spawn(&spawned.pid, request.launcher.c_str(), &actions, &attributes,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return Unavailable(fmt::format("cannot start {} in {}: {}", request.launcher,
                                   request.working_folder, std::strerror(error)));
  }
  // The launcher is a child of this process and not reaped yet, so no other process has its pid.
  spawned.pidfd = static_cast<int>(syscall(SYS_pidfd_open, spawned.pid, 0));
  if (spawned.pidfd < 0) {
    const int reason = errno;
    kill(spawned.pid, SIGUSR1);  // a launch that cannot be watched must not run
    waitpid(spawned.pid, nullptr, 0);
    return Unavailable(fmt::format("cannot watch a process: {}", std::strerror(reason)));
  }
  return spawned;
}

LaunchPlan PlanLaunch(const Study& study, const Trial& trial, const Node& node,
                      const LaunchPlaces& places, const LaunchReach& reach,
                      const StudyWorld& world) {
  LaunchPlan plan;
  plan.assign = MakeAssign(study, trial, places);
  const std::string params_file = plan.assign.folder + "/params.json";

  Arguments arguments = ArgumentsOf(study.spec, trial.point);
  plan.params = std::move(arguments.json);
  // A parameter of a sweep may have the name of one of these words. Then {NAME} means the word.
  TemplateValues values = {
      {"trial", fmt::format("{}", Number(trial.id))},
      {"launch", fmt::format("{}", Number(trial.launch.id))},
      {"budget", plan.assign.target ? fmt::format("{}", *plan.assign.target) : ""},
      {"params", params_file},
      {"checkpoint", plan.assign.checkpoint_dir},
      {"seed", fmt::format("{}", plan.assign.seed)},
      {"study", study.spec.name}};
  AddEnvironment(study.spec, world, values);
  values.merge(arguments.values);
  plan.program = ExpandProgram(study.spec.program, values, arguments.lists);
  if (study.spec.training) {
    TrainerStart start = StartOfTrainer(study, reach.trainer, plan.assign.folder + "/recipe.json");
    plan.program = std::move(start.program);
    plan.recipe = std::move(start.recipe);
  }

  auto& environment = plan.environment;
  const Milli threads = std::max<Milli>(1, trial.launch.grant.cpus / kWhole);
  for (const char* variable : kThreadVariables) environment[variable] = std::to_string(threads);
  environment["CUDA_VISIBLE_DEVICES"] = Devices(trial.launch.grant, node);
  environment["PYTHONUNBUFFERED"] = std::to_string(1);
  environment["PYTHONPATH"] = PythonPath(world);
  environment["SLUICE_SOCKET"] = reach.socket;
  environment["SLUICE_WORKER"] = WorkerName(plan.assign.at);
  environment["SLUICE_TRIAL_FILE"] = plan.assign.folder + "/trial.json";
  environment["SLUICE_PARAMS"] = params_file;
  environment["SLUICE_STUDY"] = study.spec.name;
  environment["SLUICE_TRIAL"] = values["trial"];
  environment["SLUICE_LAUNCH"] = values["launch"];
  environment["SLUICE_CHECKPOINT_DIR"] = plan.assign.checkpoint_dir;
  if (plan.assign.target) environment["SLUICE_BUDGET"] = values["budget"];
  for (const auto& [name, value] : study.spec.environment) {
    if (HasValues(value, values)) environment[name] = Expand(value, values);
  }
  if (std::string& path = environment["PYTHONPATH"]; !WithPackage(path))
    path += fmt::format("{}{}", path.empty() ? "" : ":", SLUICE_PYTHON_DIR);
  if (UsesStandIn(study.spec, world)) {
    environment["PYTHONPATH"] =
        fmt::format("{}/sluice/_wandb:{}", SLUICE_PYTHON_DIR, environment["PYTHONPATH"]);
  }
  return plan;
}

}  // namespace sluice
