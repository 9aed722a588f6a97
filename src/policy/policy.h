#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "cluster/cluster.h"

namespace sluice {

// A trial that runs or wants to.
struct WorkItem {
  TrialKey trial;
  GroupId group{};
  Demand demand;
  Work done = 0;
  Work target = 0;
  bool running = false;
  const Grant* grant = nullptr;  // while it runs
};

// A study as a policy sees it.
struct StudyView {
  StudyId study{};
  Demand demand;        // of each of its trials
  int parallelism = 0;  // most trials at once
  int running = 0;
  int waiting = 0;    // items below that do not run yet
  bool open = false;  // it could propose or resume more trials if there were room
};

struct WorkView {
  std::vector<WorkItem> items;     // running ones first, then waiting ones in the order they came
  std::vector<StudyView> studies;  // by id
};

// One trial (later: a bundle) on its devices.
struct Placement {
  TrialKey trial;
  Grant grant;
};

// Room for trials that a study does not have yet.
struct Appetite {
  StudyId study{};
  int trials = 0;
};

// The whole desired assignment, not a change to it: a running item that is missing here is to be
// paused, unless the plan keeps all that runs.
struct Plan {
  bool keeps_running = false;  // every running item stays as it is, and need not be placed
  std::vector<Placement> placements;
  std::vector<Appetite> appetites;
  Time ask_again = kNever;
};

// Who runs where. Pure: the same views give the same plan. Asked when work or devices change and
// when a plan's ask_again has come.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual Plan Propose(const Cluster& cluster, const WorkView& work, Time now) = 0;
  // Whether plans depend on which items run. A policy that says no may be shown waiting items only.
  virtual bool LooksAtRunning() const { return true; }
};

const std::vector<std::string>& PolicyNames();
Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name);

}  // namespace sluice
