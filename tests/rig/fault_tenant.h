#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "engine/engine.h"
#include "engine/event.h"
#include "rig/checker.h"
#include "rig/fault_ground.h"
#include "rig/fault_plan.h"
#include "sim/timeline.h"

namespace sluice {

// One of the studies of a world with faults: what was drawn for it, what it has on the machines,
// and what its user wants. It outlives the controllers.
struct FaultTenant {
  StudyId id() const { return created.study; }
  const std::string& name() const { return created.spec.name; }

  StudyCreated created;
  std::unique_ptr<FaultGround> ground;
  StudyChecker* checker = nullptr;
  bool truthful = true;     // every worker reports what is true, and its objective
  bool is_written = false;  // its first events are on disk
  bool comes = false;  // its user is about to hand it over; else it is taken in at the next start
  bool over = false;   // it has ended in a healed world
  bool exhausted = false;          // the sampler has no more points: only enqueued ones are left
  std::optional<int> more_trials;  // for when it goes on
  std::optional<Time> new_deadline;
  std::unique_ptr<Engine> alone;  // as the last controller let it go
};

// What a tenant is drawn from.
struct TenantDraws {
  Random random;
  Random ground;
  std::uint64_t seed = 0;  // of the study
  StudyId id{};
  std::string name;
  Theme theme = Theme::kNone;
  bool bundles = false;
  std::string more;  // lines of its study file
};

// Draws a study on these nodes. If there are none, draws them too. Sets `sync` to the longest time
// that a commit waits before it is written.
std::unique_ptr<FaultTenant> DrawTenant(const TenantDraws& draws, Timeline& timeline,
                                        std::vector<Node>& nodes, Duration& sync);

}  // namespace sluice
