#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/forecast.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "cluster/speed_model.h"
#include "policy/policy_table.h"

namespace sluice {

// A trial that runs or waits to run.
struct WorkItem {
  TrialKey trial;
  GroupId group{};
  Demand demand;
  Work done = 0;
  Work target = 0;
  std::string_view shape = {};  // its name in the speed model; some processes take only one shape
  Milli width = 0;              // settled by a plan (SettledWidth); 0: not settled
  bool running = false;
  // It was asked to leave. It holds its grant until it has left, and then waits for another.
  bool leaving = false;
  // Whether its launch can be asked to leave and has made progress. Only such trials are moved. So
  // a trial that is moved again and again still reaches its end.
  bool movable = false;
  bool alone = false;     // it must not share a process: it is never fused
  int capacity = 0;       // the most trials that its bundle's process takes at once; 0: not known
  bool admitted = false;  // it waits only because its last launch had to leave, or was lost
  double loss = 0;        // last reported, smaller is better; NaN: none, or diverged
  std::uint32_t launch_reports = 0;  // reports of the launch that runs
  Time since{};                      // while it waits: when it began to wait
  // While it runs: when it last reported, or was started. If it leaves, its work since then is
  // lost.
  Time heard{};
  double pace = 1;                     // its speed, as a multiple of what is usual in its study
  const Forecast* forecast = nullptr;  // of its loss, in a study with a deadline
  const Grant* grant = nullptr;        // while it runs
};

// Whether the trial stays where it is, whatever is planned.
inline bool IsFixed(const WorkItem& item) { return item.running && !item.leaving && !item.movable; }

// A study as a policy sees it.
struct StudyView {
  StudyId study{};
  Demand demand;                // of each of its trials
  int parallelism = 0;          // most trials at once
  std::string_view shape = {};  // of its trials; if they have several shapes, a name for them all
  int capacity = 0;             // the most trials that a process takes at once; 0: not known
  bool several_shapes = false;  // one process takes trials of several shapes at once
  Time deadline = kNever;
  Work max_budget = 0;
  double typical_work = 0;      // of an average trial; 0: not known
  std::int64_t eta = 0;         // of its rungs
  Work furthest = 0;            // the most work that any of its trials has reported
  Duration start_up{0};         // of a launch, as measured
  bool start_up_known = false;  // whether it was measured
  Duration leaving{0};          // the longest that a launch takes to save and leave
  bool leaving_known = false;   // whether it was measured
  int running = 0;
  int ending = 0;     // running trials that leave for good or pause; not among the items
  int waiting = 0;    // items below that do not run yet
  int coming = 0;     // proposals on their way
  int paused = 0;     // paused trials; some of them may go on
  int not_ready = 0;  // trials that wait for their parameters, their checkpoint, or their next try
  bool judged = false;                 // a stopper may stop its trials early
  bool ends_when_good_enough = false;  // it ends as soon as a trial is good enough
  bool all_go_on = false;              // all paused trials go on; if not, one in eta
  bool open = false;                   // it could propose or resume more trials if there were room
  int left = 0;                        // how many it may still propose, besides those on their way
  double best = std::numeric_limits<double>::quiet_NaN();  // loss of the best report; NaN: none
  const Forecast* fresh = nullptr;  // of a new trial's loss, if there is a deadline
  double weight = 1;                // its share of the devices is in proportion to this
  // If it trains the best trial of another study: the fraction of the other study's trials that
  // are over. Otherwise 1.
  double leader_progress = 1;
};

struct WorkView {
  std::vector<WorkItem> items;     // running ones first, then waiting ones in the order they came
  std::vector<StudyView> studies;  // in the order they came
  const SpeedModel* speeds = nullptr;
};

// One trial on its devices. Each trial of a bundle has a placement of its own.
struct Placement {
  TrialKey trial;
  Grant grant;
};

// Room for trials that a study does not have yet.
struct WantedRoom {
  StudyId study{};
  int trials = 0;
};

// The width that a trial has until it reaches its present target, however often it is placed.
struct SettledWidth {
  TrialKey trial;
  Milli width = 0;
};

// The whole desired assignment, not a change to the present one. A running item saves and leaves if
// it is missing here, or if its grant here is not the one it holds. There are two exceptions: the
// item is fixed (IsFixed), or the plan keeps all that runs (`keeps_running`). An item may be placed
// where there is no room yet. It starts once there is room: the engine asks for a new plan whenever
// a trial leaves.
struct Plan {
  bool keeps_running = false;  // every running item stays as it is, and need not be placed
  bool unproven = false;       // the policy seeks the best plan, and did not prove this one best
  std::vector<Placement> placements;
  std::vector<SettledWidth> widths;
  // Running trials that stop for good without being saved. Ignored for fixed trials, and in studies
  // with a stopper.
  std::vector<TrialKey> given_up;
  std::vector<WantedRoom> wanted_room;
  // When to ask again even if nothing has changed. A time that is not in the future counts as
  // never.
  Time ask_again = kNever;
};

// Decides which trials run where. Pure: the same views give the same plan. The engine asks it for a
// plan when work or devices change, and at the time that the last plan named (`ask_again`).
class Policy {
 public:
  virtual ~Policy() = default;
  virtual Plan Propose(const Cluster& cluster, const WorkView& work, Time now) = 0;

  // The policy's row of the table of policies; kUnlistedPolicy if MakePolicy did not make it.
  const PolicyTraits& traits() const { return *traits_; }
  bool LooksAtRunning() const { return traits_->inputs.running; }
  bool LooksAtSpeeds() const { return traits_->inputs.speeds; }
  bool LooksAtPaces() const { return traits_->inputs.paces; }
  bool LooksAtForecasts() const { return traits_->inputs.forecasts; }
  TransferRule transfer_rule() const { return traits_->can.transfers; }
  // Whether a study may train the best of its leader before the leader has ended.
  bool TransfersEarly() const { return transfer_rule() != TransferRule::kFinalBest; }
  bool AsksAtReports() const { return traits_->asks_at_reports; }

 protected:
  // A policy that wraps another policy has the row of the wrapped policy.
  void SetTraits(const PolicyTraits& traits) { traits_ = &traits; }

 private:
  friend Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name);
  const PolicyTraits* traits_ = &kUnlistedPolicy;
};

// Fails with invalid_argument for a name that is not in the table, suggesting the nearest.
Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name);

}  // namespace sluice
