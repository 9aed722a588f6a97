#pragma once

#include <string>
#include <variant>

#include "base/ids.h"
#include "base/time.h"
#include "cluster/cluster.h"

namespace sluice {

// What the engine wants done. A command may come again after a restart (Engine::Unfinished); it
// takes effect once.

// Ask for the parameters of a trial. Touches nothing outside, so it need not wait for the commit.
struct Propose {
  StudyId study{};
  std::uint64_t counter = 0;  // of the sampler's proposals
  // If set, the parameters of this fork of `parent` are asked for (search/samplers/explore.h), and
  // `counter` does not count.
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

// kYield: the trial makes room, or goes on elsewhere. kDrain: the controller is about to exit.
enum class StopReason { kComplete, kStopped, kPaused, kYield, kStudy, kTimeout, kLease, kDrain };

// The launch is to leave its trial; LaunchEnded says when it has left. A worker that speaks the
// protocol is asked first, and forced after a grace period (SIGTERM, then SIGKILL). Other programs
// are forced at once, unless they are to pause and may still connect. kTimeout and kLease force a
// launch without asking. kYield never forces a launch. kComplete forces a launch only if it goes on
// all the same, when it is told for the second time.
struct StopLaunch {
  TrialKey trial;
  LaunchId launch{};
  StopReason reason = StopReason::kStopped;
};

// Copy the checkpoint of a trial for a fork of it, unless its work has reached `end`.
// CheckpointCopied says what came of it. If the fork has a checkpoint already, that is the copy,
// and nothing is done. Later commands that touch either checkpoint wait until the copy is made, so
// that a parent which is resumed does not write to what is copied. Other commands do not wait.
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

// Nothing of this study runs, and nothing will unless it is resumed.
struct StudyFinished {
  StudyId study{};
};

using Command = std::variant<Propose, Start, SetBudget, StopLaunch, CopyCheckpoint, Evict, WakeAt,
                             StudyFinished>;

}  // namespace sluice
