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
  std::string_view shape = {};  // as the speed model knows it; a process may take only one shape
  Milli width = 0;              // settled by a plan until this target; 0: none
  bool running = false;
  bool leaving = false;  // told to leave: it still holds its grant, and will wait for another
  // Its launch can be told to leave, and has made progress. So a trial that is moved again and
  // again still reaches its end.
  bool movable = false;
  bool alone = false;     // it must not share a process: it is never fused
  int capacity = 0;       // of the process of its bundle: the most trials at once; 0: not said yet
  bool admitted = false;  // it waits only because its last launch had to leave, or was lost
  double loss = 0;        // last reported, smaller is better; NaN: none, or diverged
  std::uint32_t launch_reports = 0;  // of the launch that runs
  Time since{};                      // it has waited since then
  // While it runs: when it last reported, or was started. Its work since then is lost if it leaves.
  Time heard{};
  double pace = 1;                     // its speed, as a multiple of the usual for its study
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
  std::string_view shape = {};  // of its trials; if they have several, it stands for all of them
  int capacity = 0;             // the most trials that a process takes at once; 0: not said yet
  bool several_shapes = false;  // its processes take trials of several shapes at once
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
  int ending = 0;     // running trials that leave for good, or to pause; not among the items
  int waiting = 0;    // items below that do not run yet
  int coming = 0;     // proposals on their way
  int paused = 0;     // trials of which some may go on
  int not_ready = 0;  // trials that wait for their parameters, their checkpoint, or their next try
  bool judged = false;                 // trials may be stopped before their target
  bool ends_when_good_enough = false;  // it ends as soon as a trial is good enough
  bool all_go_on = false;              // all paused trials go on; else one in eta
  bool open = false;                   // it could propose or resume more trials if there were room
  int left = 0;                        // how many it may still propose, beside those on their way
  double best = std::numeric_limits<double>::quiet_NaN();  // loss of the best report; NaN: none
  const Forecast* fresh = nullptr;  // of a new trial, where there is a deadline
  double weight = 1;                // its share of the devices is in proportion to this
  // If it trains the best trial of another study: the part of that search that is over.
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

// The width of a trial until its present target, whenever it is placed.
struct SettledWidth {
  TrialKey trial;
  Milli width = 0;
};

// The whole desired assignment, not a change to it. Unless it is fixed or the plan keeps all that
// runs, a running item that is missing here, or has another grant here than it holds, is to save
// and leave. An item that is placed where there is no room yet starts once there is room: the
// engine asks for a new plan whenever a trial leaves.
struct Plan {
  bool keeps_running = false;  // every running item stays as it is, and need not be placed
  bool unproven = false;       // a policy that seeks the best plan did not prove this one best
  std::vector<Placement> placements;
  std::vector<SettledWidth> widths;
  // Running trials that stop for good without being saved, in studies without a stopper. Fixed
  // trials stay.
  std::vector<TrialKey> given_up;
  std::vector<WantedRoom> wanted_room;
  // When to ask again even if nothing has changed. A time that is not in the future counts as
  // never.
  Time ask_again = kNever;
};

// Decides which trials run where. Pure: the same views give the same plan. Asked when work or
// devices change and when a plan's ask_again has come.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual Plan Propose(const Cluster& cluster, const WorkView& work, Time now) = 0;

  // Its row of the table. A policy that MakePolicy did not make has kUnlistedPolicy.
  const PolicyTraits& traits() const { return *traits_; }
  bool LooksAtRunning() const { return traits_->inputs.running; }
  bool LooksAtSpeeds() const { return traits_->inputs.speeds; }
  bool LooksAtPaces() const { return traits_->inputs.paces; }
  bool LooksAtForecasts() const { return traits_->inputs.forecasts; }
  bool TransfersEarly() const { return traits_->can.transfers_early; }
  bool AsksAtReports() const { return traits_->asks_at_reports; }

 protected:
  // A policy that wraps another one has the row of that one.
  void SetTraits(const PolicyTraits& traits) { traits_ = &traits; }

 private:
  friend Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name);
  const PolicyTraits* traits_ = &kUnlistedPolicy;
};

// Fails with invalid_argument for a name that is not in the table, suggesting the nearest.
Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name);

}  // namespace sluice
