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

// What a fork waits for before it can start, beside its parameters.
enum class Copying : std::uint8_t {
  kNot,
  kWaits,  // until its parent has saved and left
  kAsked,  // for the copy of the parent's checkpoint
};

// A trial as the engine knows it. Its reports are on disk; here is what decisions need. About 420
// bytes, and what its texts and lists hold.
struct Trial {
  TrialId id{};
  GroupId group{};
  TrialState state = TrialState::kWaiting;
  bool leaving = false;  // the launch was told to leave, for this reason
  StopReason leave_reason = StopReason::kStopped;
  bool exempt = false;     // retried by hand: the stopper has no say any more
  bool evicted = false;    // its checkpoint is to be removed, and may be still there
  bool lost = false;       // an earlier launch vanished, with reports perhaps, and none came since
  bool restarted = false;  // its checkpoint was ahead of its reports: it began anew
  bool enqueued = false;   // its point was given by hand
  bool changed = false;    // it is in the engine's list of changed trials; not part of the state
  TrialId parent{};    // the trial it is a fork of: it begins from a copy of that one's checkpoint
  Work forked_at = 0;  // the work of that
  bool awaits_parameters =
      false;  // a fork whose parameters are to come; until then they are its parent's
  Copying copying = Copying::kNot;
  LaunchId launch{};                 // the latest
  std::uint64_t seq = 0;             // of that launch: the last message seen
  std::uint64_t offset = 0;          // of that launch: output consumed
  Work launch_work = 0;              // reported by that launch itself
  Work launch_target = 0;            // what that launch was told at its start
  std::uint32_t launch_reports = 0;  // of that launch
  Duration to_first{0};              // from its start to its first report; 0: not known
  Time window = kNever;              // since when its speed is being measured; never: it is not
  Work window_work = 0;              // what it had reported then
  double pace = 1;                   // how quick it was beside others of its shape
  std::uint32_t paced = 0;           // how often that was measured
  Time leave_sent = kNever;          // when it was told to leave; never: that is not known
  bool resumed = false;  // its stopper has resumed it, and it has not been started since
  std::uint32_t failures = 0;
  std::uint32_t reports = 0;
  Work work = 0;  // reported so far, or done by the parent of a fork
  Work target = 0;
  Work saved_work = 0;  // the checkpoint's
  std::int64_t saved_bytes = 0;
  double value = std::numeric_limits<double>::quiet_NaN();   // the objective, last reported
  double result = std::numeric_limits<double>::quiet_NaN();  // what it counts with (Objective::of)
  Work result_work = 0;
  // The result as it passed each of the sampler's levels (SamplerSpec::levels).
  std::vector<double> by_level;
  Time created{};
  Time started{};  // of the latest launch
  Time heard{};    // last report of the latest launch, or its start
  Time ended{};
  Time not_before{};  // back-off
  Duration busy{0};   // in ended launches
  Point point;
  Milli width = 0;  // that the policy settled for it on its way to its target; 0: none
  Grant grant;      // while it runs
  std::string note;

  bool IsFork() const { return IsSet(parent); }
  bool CanStart() const { return !awaits_parameters && copying == Copying::kNot; }
  bool HasCheckpoint() const { return saved_work > 0 || saved_bytes > 0; }
  bool HasResult() const { return result == result; }
};

// Whether the launch leaves a trial whose fate is known: the executor sees to it that it does, by
// force in the end.
inline bool IsDecided(const Trial& trial) {
  return trial.leaving &&
         (trial.leave_reason == StopReason::kStopped || trial.leave_reason == StopReason::kPaused ||
          trial.leave_reason == StopReason::kStudy);
}

// Whether there is something left of it that a user could end. A fork that waits to be born is
// none yet.
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
