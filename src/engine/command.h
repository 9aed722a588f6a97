#pragma once

#include <string>
#include <variant>

#include "base/ids.h"
#include "base/time.h"
#include "cluster/cluster.h"

namespace sluice {

// What the engine wants done. A command may be given again after a restart (Engine::Unfinished). It
// takes effect only once.

// Ask for the parameters of a trial. The command has no effect outside the controller, so it does
// not wait for the commit.
struct Propose {
  StudyId study{};
  std::uint64_t counter = 0;  // which of the sampler's proposals, counted from 0
  // If set, the command asks for the parameters of this fork of `parent`
  // (search/samplers/explore.h), and `counter` is not used.
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

// The launch is to go on to a new target.
struct SetBudget {
  TrialKey trial;
  LaunchId launch{};
  Work target = 0;
};

// kYield: the trial makes room for others, or moves to other devices. kDrain: the controller is
// about to exit.
enum class StopReason { kComplete, kStopped, kPaused, kYield, kStudy, kTimeout, kLease, kDrain };

// The launch is to leave its trial. LaunchEnded says when it has left. A worker that speaks the
// protocol is asked first, and forced after a grace period (SIGTERM, then SIGKILL). Other programs
// are forced immediately, unless they are to pause and may still connect. Some reasons differ:
//   - kTimeout and kLease force the launch without asking.
//   - kYield never forces the launch.
//   - kComplete forces the launch only when the command is given a second time, because the launch
//     still runs.
struct StopLaunch {
  TrialKey trial;
  LaunchId launch{};
  StopReason reason = StopReason::kStopped;
};

// Copy a trial's checkpoint for a fork of the trial, unless the checkpoint's work has reached
// `end`. CheckpointCopied tells the outcome. If the fork already has a checkpoint, the copy was
// made before, and nothing is done. Later commands wait for the copy if they may write to either
// checkpoint, or read the copy. So a resumed parent does not write to the checkpoint while it is
// copied. Other commands do not wait.
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

// No launch of this study runs, and none will start unless the study is resumed.
struct StudyFinished {
  StudyId study{};
};

using Command = std::variant<Propose, Start, SetBudget, StopLaunch, CopyCheckpoint, Evict, WakeAt,
                             StudyFinished>;

}  // namespace sluice
