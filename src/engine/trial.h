#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "engine/command.h"
#include "space/space.h"

namespace sluice {

enum class TrialState : std::uint8_t { kWaiting, kRunning, kPaused, kComplete, kStopped, kFailed };
constexpr std::size_t kTrialStates = 6;
constexpr std::array<std::string_view, kTrialStates> kTrialStateNames = {
    "waiting", "running", "paused", "complete", "stopped", "failed"};

constexpr std::string_view Name(TrialState state) {
  return kTrialStateNames[static_cast<std::size_t>(state)];
}

// What a fork still waits for before it can start, apart from its parameters.
enum class Copying : std::uint8_t {
  kNot,
  kWaits,  // for its parent to save and leave
  kAsked,  // for the copy of the parent's checkpoint
};

// The latest launch of a trial. A new launch replaces the whole struct, so that no field of the
// launch before it stays.
struct Launch {
  LaunchId id{};
  Grant grant;      // while it runs
  Work target = 0;  // the target that it was given at its start
  Time started{};
  Time heard{};               // its last report, or its start
  std::uint64_t seq = 0;      // the last message seen
  std::uint64_t offset = 0;   // bytes of standard output read so far
  Work work = 0;              // the work of its last new report
  std::uint32_t reports = 0;  // number of new reports
  Duration to_first{0};       // from its start to its first report; 0: not known
  // How many launches its process takes at once; 0: the process has not said so. No launch joins a
  // bundle that has this many members or more.
  int capacity = 0;

  // Whether the launch can be preempted: it speaks the protocol, and has reported new work.
  bool CanBeMoved() const { return seq > 0 && work > 0; }
};

// How fast a trial trains.
struct MeasuredPace {
  Time since = kNever;         // its speed is measured from this time on; kNever: not measured
  Work work = 0;               // the trial's work at `since`
  double pace = 1;             // its speed relative to what is usual for its study
  std::uint32_t measured = 0;  // number of measurements that `pace` rests on, capped
};

// A trial as the engine knows it. The trial's reports are on disk; this struct holds what decisions
// need. It takes about 420 bytes, plus what its texts and lists take.
struct Trial {
  TrialId id{};
  GroupId group{};
  TrialState state = TrialState::kWaiting;
  bool leaving = false;  // its launch was told to leave
  // Why its launch was last told to leave, and when (kNever: not known). Both are kept after the
  // launch has left.
  StopReason leave_reason = StopReason::kStopped;
  Time leave_sent = kNever;
  bool exempt = false;     // retried by hand: the stopper no longer judges it
  bool evicted = false;    // its checkpoint is to be removed, and may still be there
  bool lost = false;       // a launch vanished, perhaps with reports, and no report has come since
  bool restarted = false;  // its checkpoint was ahead of its reports: it began again from scratch
  bool enqueued = false;   // its point was given by hand
  bool resumed = false;    // its stopper has resumed it, and it has not been started since
  bool changed = false;    // it is in the engine's list of changed trials; not part of the state
  TrialId parent{};        // of a fork: it begins from a copy of this trial's checkpoint
  Work forked_at = 0;      // the work of that copy
  // This is a fork whose parameters have not come yet. Until they come, it has its parent's
  // parameters.
  bool awaits_parameters = false;
  Copying copying = Copying::kNot;
  Launch launch;
  MeasuredPace pace;
  std::uint32_t failures = 0;
  // How often a process of this trial died while it carried other launches too, since a launch of
  // this trial last ended well or paused.
  std::uint32_t lost_bundles = 0;
  std::uint32_t reports = 0;
  Work work = 0;  // reported so far, or done by the parent of a fork
  Work target = 0;
  Work saved_work = 0;  // of the checkpoint
  std::int64_t saved_bytes = 0;
  double value = std::numeric_limits<double>::quiet_NaN();   // the objective, last reported
  double result = std::numeric_limits<double>::quiet_NaN();  // best or last report (Objective::of)
  Work result_work = 0;
  // The result as the trial passed each of the sampler's levels (SamplerSpec::levels).
  std::vector<double> by_level;
  Time created{};
  Time ended{};
  Time not_before{};  // no start before this time: back-off after a failure
  Duration busy{0};   // time spent in ended launches
  Point point;
  Milli width = 0;  // chosen by the policy until the target is reached; 0: none
  std::string note;

  bool IsFork() const { return IsSet(parent); }
  bool CanStart() const { return !awaits_parameters && copying == Copying::kNot; }
  bool HasCheckpoint() const { return saved_work > 0 || saved_bytes > 0; }
  bool HasResult() const { return result == result; }
  // Whether the trial must have a process to itself, because it may have made two processes die.
  bool RunsAlone() const { return lost_bundles >= 2; }
  // A width is settled for one target, so a new target drops it.
  void SetTarget(Work next) {
    if (target != next) width = 0;
    target = next;
  }
};

// Whether the launch is leaving for kStopped, kPaused or kStudy. The executor makes such a launch
// leave, by force in the end.
inline bool IsDecided(const Trial& trial) {
  return trial.leaving &&
         (trial.leave_reason == StopReason::kStopped || trial.leave_reason == StopReason::kPaused ||
          trial.leave_reason == StopReason::kStudy);
}

// Whether the launch is leaving for a reason other than kYield and kDrain. After those two, the
// trial waits to be placed again.
inline bool IsEnding(const Trial& trial) {
  return trial.leaving && trial.leave_reason != StopReason::kYield &&
         trial.leave_reason != StopReason::kDrain;
}

// Whether a user can still stop this trial. A fork that cannot start yet (CanStart) cannot be
// stopped.
inline bool CanBeStopped(const Trial& trial) {
  const bool lives = trial.state == TrialState::kWaiting || trial.state == TrialState::kRunning ||
                     trial.state == TrialState::kPaused;
  const bool decided = trial.leaving && (trial.leave_reason == StopReason::kStopped ||
                                         trial.leave_reason == StopReason::kComplete ||
                                         trial.leave_reason == StopReason::kStudy);
  return lives && !decided && trial.CanStart();
}

// Calls visit on each field that is part of the state, in the order of the snapshot. Saving,
// loading and digesting share this one list. A field that is missing here is a compile error.
template <typename SomeTrial, typename Visit>
void ForEachField(SomeTrial& t, Visit&& visit) {
  // `changed` is not part of the state. `launch`, its grant and `pace` are listed by their fields.
  constexpr std::size_t kFields = kFieldsOf<Trial> + kFieldsOf<Launch> + kFieldsOf<Grant> +
                                  kFieldsOf<MeasuredPace> - std::size_t{4};
  VisitFields<kFields>(
      visit, t.id, t.group, t.state, t.leaving, t.leave_reason, t.exempt, t.parent, t.forked_at,
      t.awaits_parameters, t.copying, t.evicted, t.enqueued, t.launch.id, t.launch.seq,
      t.launch.offset, t.launch.work, t.launch.target, t.failures, t.reports, t.work, t.target,
      t.saved_work, t.saved_bytes, t.value, t.result, t.result_work, t.by_level, t.created,
      t.launch.started, t.launch.heard, t.ended, t.not_before, t.busy, t.note, t.point,
      t.launch.grant.node, t.launch.grant.cpus, t.launch.grant.gpu_share, t.launch.grant.bandwidth,
      t.launch.grant.memory_bytes, t.launch.grant.devices, t.launch.grant.bundle,
      t.launch.grant.program_bytes, t.width, t.launch.reports, t.launch.to_first, t.pace.since,
      t.pace.work, t.pace.pace, t.pace.measured, t.leave_sent, t.resumed, t.lost, t.restarted,
      t.launch.capacity, t.lost_bundles);
}

}  // namespace sluice
