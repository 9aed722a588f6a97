#pragma once

#include <string>
#include <variant>

#include "base/ids.h"
#include "base/time.h"
#include "cluster/cluster.h"

namespace sluice {

// What the engine wants done. Every command may be repeated after a restart (Engine::Unfinished)
// and is carried out once.

// Ask for the parameters of a trial. Touches nothing outside, so it need not wait for the commit.
struct Propose {
  StudyId study{};
  std::uint64_t counter = 0;  // of the sampler's proposals
  // Or those of this trial, a fork of that one (search/explore.h); nothing is counted then.
  TrialId fork{};
  TrialId parent{};
};

struct Start {
  TrialKey trial;
  LaunchId launch{};
  Grant grant;
  Work work = 0;  // reported so far, by earlier launches
  Work target = 0;
};

// Go on to a new target.
struct SetBudget {
  TrialKey trial;
  LaunchId launch{};
  Work target = 0;
};

// kYield: to make room, or to go on elsewhere. kDrain: the controller leaves.
enum class StopReason { kComplete, kStopped, kPaused, kYield, kStudy, kTimeout, kLease, kDrain };

// The launch is to leave its trial; LaunchEnded says when it has. Asked first, then made to
// (SIGTERM, SIGKILL); kTimeout and kLease do not ask. kComplete and kYield never force a program
// that cannot hear.
struct StopLaunch {
  TrialKey trial;
  LaunchId launch{};
  StopReason reason = StopReason::kStopped;
};

// Copy the checkpoint of a trial for a fork of it, unless nothing is left to do from there;
// CheckpointCopied says what came of it. What is there at the fork already is the copy. Before the
// commands that come after it, so that a trial which is resumed does not write to what is copied.
struct CopyCheckpoint {
  StudyId study{};
  TrialId from{};
  TrialId to{};
  Work end = 0;
};

// Remove the trial's checkpoint.
struct Evict {
  TrialKey trial;
};

struct WakeAt {
  Time time{};
};

// Nothing of this study runs or will.
struct StudyFinished {
  StudyId study{};
};

using Command = std::variant<Propose, Start, SetBudget, StopLaunch, CopyCheckpoint, Evict, WakeAt,
                             StudyFinished>;

}  // namespace sluice
