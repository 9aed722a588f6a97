#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

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

// What a fork still waits for before it can start, besides its parameters.
enum class Copying : std::uint8_t {
  kNot,
  kWaits,  // for its parent to save and leave
  kAsked,  // for the copy of the parent's checkpoint
};

// A trial as the engine knows it. Its reports are on disk; this holds what decisions need. About
// 420 bytes, plus what its texts and lists hold.
struct Trial {
  TrialId id{};
  GroupId group{};
  TrialState state = TrialState::kWaiting;
  bool leaving = false;  // its launch was told to leave, for leave_reason
  StopReason leave_reason = StopReason::kStopped;
  bool exempt = false;     // retried by hand: the stopper no longer judges it
  bool evicted = false;    // its checkpoint is to be removed, and may still be there
  bool lost = false;       // a launch vanished, perhaps with reports, and no report has come since
  bool restarted = false;  // its checkpoint was ahead of its reports: it began anew
  bool enqueued = false;   // its point was given by hand
  bool changed = false;    // it is in the engine's list of changed trials; not part of the state
  TrialId parent{};        // of a fork: it begins from a copy of this trial's checkpoint
  Work forked_at = 0;      // the work of that copy
  // A fork whose parameters are still to come. Until then it has its parent's.
  bool awaits_parameters = false;
  Copying copying = Copying::kNot;
  LaunchId launch{};                 // the latest launch
  std::uint64_t seq = 0;             // of that launch: the last message seen
  std::uint64_t offset = 0;          // of that launch: bytes of output consumed
  Work launch_work = 0;              // of that launch: work of its last new report
  Work launch_target = 0;            // of that launch: the target it was given at its start
  std::uint32_t launch_reports = 0;  // of that launch: new reports
  Duration to_first{0};              // of that launch: from start to first report; 0: not known
  Time window = kNever;              // since when its speed is measured; kNever: it is not
  Work window_work = 0;              // the work it had reported then
  double pace = 1;                   // its speed relative to what is usual for its shape
  std::uint32_t paced = 0;           // measurements that `pace` rests on, capped
  Time leave_sent = kNever;          // when it was told to leave; kNever: not known
  bool resumed = false;  // its stopper has resumed it, and it has not been started since
  std::uint32_t failures = 0;
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
  Time started{};  // of the latest launch
  Time heard{};    // last report of the latest launch, or its start
  Time ended{};
  Time not_before{};  // not started before: back-off after a failure
  Duration busy{0};   // time spent in ended launches
  Point point;
  Milli width = 0;  // that the policy settled until the target is reached; 0: none
  Grant grant;      // while it runs
  std::string note;

  bool IsFork() const { return IsSet(parent); }
  bool CanStart() const { return !awaits_parameters && copying == Copying::kNot; }
  bool HasCheckpoint() const { return saved_work > 0 || saved_bytes > 0; }
  bool HasResult() const { return result == result; }
};

// Whether the launch is leaving and what becomes of its trial is decided. The executor makes such a
// launch leave, by force in the end.
inline bool IsDecided(const Trial& trial) {
  return trial.leaving &&
         (trial.leave_reason == StopReason::kStopped || trial.leave_reason == StopReason::kPaused ||
          trial.leave_reason == StopReason::kStudy);
}

// Whether a user can still stop this trial. A fork that cannot start yet (CanStart) does not count.
inline bool CanBeStopped(const Trial& trial) {
  const bool lives = trial.state == TrialState::kWaiting || trial.state == TrialState::kRunning ||
                     trial.state == TrialState::kPaused;
  const bool decided = trial.leaving && (trial.leave_reason == StopReason::kStopped ||
                                         trial.leave_reason == StopReason::kComplete ||
                                         trial.leave_reason == StopReason::kStudy);
  return lives && !decided && trial.CanStart();
}

// Calls visit on each field in turn: the one list that saving, loading and digesting share.
template <typename SomeTrial, typename Visit>
void ForEachField(SomeTrial& t, Visit&& visit) {
  visit(t.id), visit(t.group), visit(t.state), visit(t.leaving), visit(t.leave_reason),
      visit(t.exempt);
  visit(t.parent), visit(t.forked_at), visit(t.awaits_parameters), visit(t.copying);
  visit(t.evicted), visit(t.enqueued), visit(t.launch), visit(t.seq), visit(t.offset),
      visit(t.launch_work), visit(t.launch_target);
  visit(t.failures);
  visit(t.reports), visit(t.work), visit(t.target), visit(t.saved_work), visit(t.saved_bytes),
      visit(t.value);
  visit(t.result), visit(t.result_work), visit(t.by_level), visit(t.created), visit(t.started),
      visit(t.heard), visit(t.ended);
  visit(t.not_before), visit(t.busy), visit(t.note), visit(t.point), visit(t.grant.node),
      visit(t.grant.cpus);
  visit(t.grant.gpu_share), visit(t.grant.bandwidth), visit(t.grant.memory_bytes);
  visit(t.grant.devices), visit(t.grant.bundle), visit(t.grant.program_bytes), visit(t.width);
  visit(t.launch_reports), visit(t.to_first), visit(t.window), visit(t.window_work), visit(t.pace),
      visit(t.paced), visit(t.leave_sent), visit(t.resumed), visit(t.lost), visit(t.restarted);
}

}  // namespace sluice
