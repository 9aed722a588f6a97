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

namespace sluice {

// A trial that runs or wants to.
struct WorkItem {
  TrialKey trial;
  GroupId group{};
  Demand demand;
  Work done = 0;
  Work target = 0;
  std::string_view shape = {};  // as the speed model knows it
  Milli width = 0;              // that a plan settled for it on its way to this target; 0: none
  bool running = false;
  bool leaving = false;  // it holds its grant, and will wait for another
  // Its launch can be told to leave, and has got further: whoever is moved again and again still ends.
  bool movable = false;
  bool admitted = false;  // it waits only because its last launch had to leave, or was lost
  double loss = 0;        // last reported, smaller is better; NaN: none, or diverged
  std::uint32_t launch_reports = 0;  // of the launch that runs
  Time since{};                      // it waits since then
  Time
      heard{};  // while it runs: when it last reported, or was started; what it did since then is lost if it leaves
  double pace = 1;                     // how quick it was beside others of its shape
  const Forecast* forecast = nullptr;  // of its loss, in a study with a deadline
  const Grant* grant = nullptr;        // while it runs
};

// Whether it stays where it is, whatever is planned.
inline bool IsFixed(const WorkItem& item) { return item.running && !item.leaving && !item.movable; }

// A study as a policy sees it.
struct StudyView {
  StudyId study{};
  Demand demand;                // of each of its trials
  int parallelism = 0;          // most trials at once
  std::string_view shape = {};  // of its trials
  Time deadline = kNever;
  Work max_budget = 0;
  double typical_work = 0;      // that a trial does on average; 0: nobody knows
  std::int64_t eta = 0;         // of its rungs
  Work furthest = 0;            // that any of its trials has reported
  Duration start_up{0};         // of a launch, as measured
  bool start_up_known = false;  // it was measured
  Duration leaving{0};          // what it takes a launch at most to save and leave
  bool leaving_known = false;   // it was measured
  int running = 0;
  int ending = 0;     // of them, those that leave for good, or to pause; they are no items
  int waiting = 0;    // items below that do not run yet
  int coming = 0;     // proposals on their way
  int paused = 0;     // trials of which some may go on
  int not_ready = 0;  // trials that wait for their parameters, their checkpoint, or their next try
  bool judged = false;                 // trials may be stopped before their target
  bool ends_when_good_enough = false;  // it ends as soon as a trial is good enough
  bool all_go_on = false;              // whoever pauses, not one in eta
  bool open = false;                   // it could propose or resume more trials if there were room
  int left = 0;                        // how many it may still propose, beside those on their way
  double best = std::numeric_limits<double>::quiet_NaN();  // loss of the best report; NaN: none
  const Forecast* fresh = nullptr;  // of a trial that nobody has begun, where there is a deadline
  double weight = 1;                // of its part of the devices beside those of the others
  double leader_progress =
      1;  // of one that trains the best of another study: how much of that search is over
};

struct WorkView {
  std::vector<WorkItem> items;     // running ones first, then waiting ones in the order they came
  std::vector<StudyView> studies;  // in the order they came
  const SpeedModel* speeds = nullptr;
};

// One trial on its devices; those of a bundle have a placement each.
struct Placement {
  TrialKey trial;
  Grant grant;
};

// Room for trials that a study does not have yet.
struct WantedRoom {
  StudyId study{};
  int trials = 0;
};

// How wide a trial is to be on its way to its present target, whenever it is placed.
struct SettledWidth {
  TrialKey trial;
  Milli width = 0;
};

// The whole desired assignment, not a change to it: a running item that is missing here, or has
// another grant here than it holds, is to save and leave, unless it is fixed or the plan keeps all that runs. An item
// that is placed where there is no room yet starts when there is: whoever leaves makes the engine ask
// again.
struct Plan {
  bool keeps_running = false;  // every running item stays as it is, and need not be placed
  bool unproven = false;       // of a policy that looks for the best plan: this may not be it
  std::vector<Placement> placements;
  std::vector<SettledWidth> widths;
  // They run in a study whose trials nobody judges, and stop for good without being saved. Those that are fixed stay.
  std::vector<TrialKey> given_up;
  std::vector<WantedRoom> wanted_room;
  Time ask_again = kNever;  // a time that has come: not before something changes
};

// Who runs where. Pure: the same views give the same plan. Asked when work or devices change and
// when a plan's ask_again has come.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual Plan Propose(const Cluster& cluster, const WorkView& work, Time now) = 0;
  // Whether plans depend on which items run. A policy that says no may be shown waiting items only.
  virtual bool LooksAtRunning() const { return true; }
  // Whether plans depend on how quick trials are: then the view's speed model learns from reports.
  virtual bool LooksAtSpeeds() const { return false; }
  // Whether they depend on how quick each one is beside others of its shape.
  virtual bool LooksAtPaces() const { return false; }
  // Whether they depend on what is expected of trials' losses.
  virtual bool LooksAtForecasts() const { return false; }
  // Whether a study that trains the best of another may begin before that one has ended.
  virtual bool TransfersEarly() const { return false; }
  // Whether it wants to be asked after every report too.
  virtual bool AsksAtReports() const { return false; }
};

// What a study must say for a policy to work.
struct PolicyNeeds {
  bool max_budget = false;  // how far its trials go
  bool deadline = false;
  bool memory = false;  // how much of a GPU's its trials take
};
PolicyNeeds NeedsOf(std::string_view name);

const std::vector<std::string>& PolicyNames();
Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name);

}  // namespace sluice
