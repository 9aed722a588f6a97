#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/event.h"
#include "engine/study.h"
#include "engine/trial.h"
#include "policy/policy.h"
#include "policy/sharing.h"
#include "search/curves/forecasts.h"
#include "search/stopper.h"

namespace sluice {

// Why a study has nothing more to do.
enum class Finish : std::uint8_t {
  kNot,        // it goes on
  kTrials,     // every trial was made and judged
  kExhausted,  // the space has no more points
  kTarget,     // stop_at was reached
  kDeadline,
  kAsked,     // by the user
  kFailures,  // too many trials failed
  kNoLeader,  // it transfers, and its leader has ended without a result
};
std::string_view Name(Finish finish);

// The measured time that something takes: a mean in which old measurements slowly lose weight.
struct Price {
  double seconds = 0;
  std::int64_t count = 0;
  static constexpr std::int64_t kMemory = 16;
  void Learn(Duration took) {
    count = std::min(count + 1, kMemory);
    seconds += (Seconds(took) - seconds) / static_cast<double>(count);
  }
};

// What a study has of the cluster.
struct Use {
  Held held;       // by its running trials
  double had = 0;  // parts of the cluster times seconds, up to `since`
  Time since{};
  bool wanted = false;  // more, when devices were last divided

  void Settle(Time now, const ClusterSize& size) {
    had += size.PartOf(held) * Seconds(std::max(Duration(0), now - since));
    since = now;
  }
};

// A study as the engine knows it. What its file says is in `spec`.
struct Study {
  StudyId id{};
  StudySpec spec;
  std::string source;
  std::string folder;
  std::uint64_t seed = 0;
  int rules = kRules;
  bool tells_budget = false;  // its program is told at its start how far to go ({budget})
  int trials_wanted = 0;
  Time created{};
  Time deadline = kNever;
  Price start_up;                // from the start of a launch to its first step
  Duration leave{0};             // the longest that a launch recently took to save and leave
  bool leave_known = false;      // `leave` was measured
  Work furthest = 0;             // the most work that any trial has reported
  Finish ending = Finish::kNot;  // why nothing new is started
  bool finished = false;         // the study has ended, and nothing runs
  bool exhausted = false;
  std::uint32_t failed_starts = 0;  // rounds of starts in a row that failed because of the machine
  Time hold_until{};                // nothing is started before this time
  std::string pause;  // why the machine could not start its trials; empty: no such failure
  // Counts since the study was made, was last resumed, or last had a trial retried by hand: trials
  // that are over, those of them that failed, and those that failed without any report.
  std::uint32_t over = 0;
  std::uint32_t failed = 0;
  std::uint32_t fruitless = 0;
  // The smallest number of launches that any process of the study said it takes at once, since the
  // study was last resumed; 0: no process has said so.
  int capacity = 0;
  bool several_shapes = false;  // its processes take launches of several shapes together
  // The largest device memory that its processes were measured to take, by the number of trials
  // that they trained at once.
  std::map<int, std::int64_t> measured_bytes;
  // `measured_bytes` was measured in an earlier study, or before this one was resumed.
  bool memory_is_inherited = false;
  Demand demand;                 // that of `spec`, with the memory that was measured
  bool has_enough_room = false;  // in the plan being made: the study needs no room for more trials
  std::uint64_t asked = 0;       // proposals asked for
  std::uint64_t answered = 0;
  std::uint64_t enqueued = 0;  // points given by hand so far
  std::deque<Point> queue;     // enqueued points that are not trials yet
  std::uint32_t groups = 0;
  TrialId best{};
  std::int64_t checkpoint_bytes = 0;
  std::set<TrialId> saved;   // trials with a checkpoint
  std::deque<Trial> trials;  // trial n is at n - 1; references stay valid when a trial is added
  int forks = 0;             // among the trials; trials_wanted does not count them
  Work group_target = 0;     // of the latest group, for stoppers that gather trials
  std::array<int, kTrialStates> counts{};
  std::vector<TrialId> running;  // in order of starting
  std::vector<TrialId> waiting;  // in the order they are to start
  std::unique_ptr<Stopper> stopper;
  double typical_work = 0;  // work that a trial does on average under the stopper
  Forecasts forecasts;      // empty where the policy does not look at them
  std::unique_ptr<Policy>
      policy;  // that of `spec`; null if the engine has a policy for all studies
  std::vector<std::string> hidden;  // uuids of devices that it may not use
  bool paused = false;              // by a user or because of the machine: nothing of it is started
  bool replan = false;              // it is planned once the present event is taken in
  bool declined = false;  // in the plan being made: it was given room, and did nothing with it
  Time wake = kNever;     // when it asked to be woken
  Use use;
  Price launch_took;  // from the start of a launch to its end

  Trial& trial(TrialId id) { return trials[Number(id) - 1]; }
  const Trial& trial(TrialId id) const { return trials[Number(id) - 1]; }
  int count(TrialState state) const { return counts[static_cast<std::size_t>(state)]; }
  // Trials that a sampler proposed or a user gave: those that `trials_wanted` counts.
  int proposed() const { return static_cast<int>(trials.size()) - forks; }
  // How many more trials may be made, in addition to those whose proposals are on their way.
  int room() const;
  // When launches are told to leave, so that they have saved before the deadline.
  Time stops_at() const;
  // Whether the study goes on: its waiting trials may start, and new trials may be made. While the
  // engine drains, nothing is planned even for an open study.
  bool open() const { return ending == Finish::kNot; }
  // Whether a stopper may stop trials before the full budget.
  bool IsJudged() const { return spec.stopper.name != "none"; }
  // Whether it takes part in plans.
  bool active() const { return !finished && open() && !paused; }
  // Whether starts are held back, since the machine has just failed to start a launch.
  bool HoldsStarts(Time now) const { return hold_until > now; }

  // Whether this waiting trial could start now if there were room.
  bool IsReady(const Trial& trial, Time now) const {
    return open() && !HoldsStarts(now) && trial.not_before <= now && trial.CanStart();
  }

  // Puts a waiting trial into the order of starting.
  void Enqueue(const Trial& trial);
  // Gives the trial its group, by its target.
  void JoinGroup(Trial& trial);
};

}  // namespace sluice
