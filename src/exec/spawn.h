#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "control/site.h"
#include "engine/engine.h"
#include "exec/study_world.h"
#include "wire/message.h"

namespace sluice {

// One process to start for a launch.
struct SpawnRequest {
  std::string launcher;  // path of sluice-launcher
  std::string folder;    // the launch's folder
  std::string working_folder;
  std::vector<std::string> program;
  // Added to the environment of the study's world. Replaces variables of the same name.
  std::map<std::string, std::string> environment;
  const StudyWorld& world;
  Duration grace{};
  std::int64_t output_cap_bytes = 0;
};

struct Spawned {
  pid_t pid = 0;
  int pidfd = -1;
};

// Starts the launcher in a session of its own, so that neither Ctrl-C nor the end of this process
// affects it. Fails with unavailable; then no process is left.
Result<Spawned> Spawn(const SpawnRequest& request);

// What a launch's program is given. Templates in the arguments and in the environment are filled
// in; {envvar:NAME} is a variable of the study's world. The environment names the devices and cores
// of the launch's grant.
struct LaunchPlan {
  wire::Assign assign;
  std::string params;  // the text of the file that SLUICE_PARAMS names
  std::vector<std::string> program;
  std::map<std::string, std::string> environment;
  std::string recipe;  // what is to be written to recipe.json in the launch's folder; may be empty
};
// What a launch's process is to reach on this machine.
struct LaunchReach {
  std::string socket;   // of the controller
  std::string trainer;  // the path of sluice-trainer, for a study with `train`
};
LaunchPlan PlanLaunch(const Study& study, const Trial& trial, const Node& node,
                      const LaunchPlaces& places, const LaunchReach& reach,
                      const StudyWorld& world);

}  // namespace sluice
