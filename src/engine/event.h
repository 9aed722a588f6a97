#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "engine/measurement.h"
#include "engine/read/study_change.h"
#include "engine/study.h"

namespace sluice {

// Everything that can happen. The commands that an event causes are carried out once the event is
// in the ledger. Propose and WakeAt have no effect outside the controller, so they do not wait for
// that.

// The version of the rules that give a study's events their meaning. A study keeps the version that
// it was made with, so that the meaning of its events never changes.
// Since rules 2:
//   - A program that exits with status 0 after more work than its launch's target has ended by
//     itself, unless it was told its {budget}. Under rules 1 its trial ran again.
//   - A program that does not speak the protocol is ended when the controller drains. Under rules 1
//     it went on.
//   - Failures can end a study, and some notes say more.
// Since rules 3, trials are compared at rungs by their result so far. Under rules 1 and 2 they were
// compared by their value at the rung.
// Since rules 4, a launch that the machine could not start counts as no failure of its trial, also
// if the launch timed out first.
// Since rules 5, a study that paused because of the machine goes on when it is resumed. Before, it
// went on when the next controller started.
constexpr int kRules = 5;

struct StudyCreated {
  StudyId study{};
  std::string source;  // the text of the study file
  std::string folder;  // in which the study's program runs
  std::uint64_t seed = 0;
  StudySpec spec;  // what the source says
  int rules = kRules;
};

// A finished, stopped or interrupted study goes on, perhaps with more trials than before or a later
// deadline.
struct StudyResumed {
  StudyId study{};
  std::optional<int> trials;
  std::optional<Time> deadline;
  std::optional<StudyChange> change = std::nullopt;  // set if the study's file was edited
};

struct StudyStopAsked {
  StudyId study{};
};

// A controller has taken over a study that was alone until now: it shares the engine, and so the
// devices, with the other studies of that controller. Events that name no study, such as
// ControllerStarted, concern it from now on.
struct StudyOpened {
  StudyId study{};
  std::vector<std::string> hidden = {};  // uuids of devices that it may not use
};

// The study has nothing more to do, or is paused, and nothing of it runs: it is alone again. What
// happens to other studies concerns it no longer.
struct StudyClosed {
  StudyId study{};
};

// Nothing new of this study is started until it is resumed. Its running launches are asked to save
// and leave.
struct StudyPauseAsked {
  StudyId study{};
};

// A controller took over with these nodes, in the order of their ids. A known node that is not
// listed is down. Launches that ran before may still run: the workforce finds out what became of
// each.
struct ControllerStarted {
  std::vector<Node> nodes;
};

// Nodes were lost, came back or changed. All nodes are listed again. Launches on a node that is
// down are lost, and their later messages are refused.
struct NodesChanged {
  std::vector<Node> nodes;
};

// Nothing new is started. Running launches are asked to save and leave.
struct DrainAsked {
  // Running launches are left alone. Set where the event is written while no controller runs,
  // before events that would otherwise start trials.
  bool only_starts = false;
};

// The answer to a Propose command. If an answer for a new trial has no point, the space is
// exhausted. If an answer for a fork has none, the fork keeps the parameters of its parent.
struct Proposed {
  StudyId study{};
  std::uint64_t counter = 0;
  std::optional<Point> point;
  TrialId fork{};
};

// The outcome of a CopyCheckpoint command.
struct CheckpointCopied {
  TrialKey trial;            // the fork
  std::optional<Work> work;  // the copied checkpoint's work; not set if it is not stated
  std::string error;         // empty: the copy was made
};

// Points to try, in this order, before the sampler is asked. They wait for the next plan.
struct PointsEnqueued {
  StudyId study{};
  std::vector<Point> points;
};

// A trial of an earlier study.
struct KnownTrial {
  Point point;
  Outcome outcome = Outcome::kComplete;
  Work work = 0;
  double value = 0;  // of the objective
};

// What the sampler is to know from the beginning. The engine itself ignores it.
struct KnowledgeGiven {
  StudyId study{};
  std::string source;  // which trials of which study, as text for people
  std::vector<KnownTrial> trials;
};

// What the processes of an earlier study with the same program measured.
struct MeasurementsGiven {
  StudyId study{};
  std::string source;  // which study, as text for people
  std::vector<Measurement> measured;
};

using Metrics = std::vector<std::pair<std::string, double>>;

// The position of an event among the messages of its launch. Both numbers rise within a launch. A
// message has one of them. An event that the controller makes by itself has neither. A message
// whose number is not above the last number seen was seen before.
struct Position {
  std::uint64_t seq = 0;     // number of the message from the worker
  std::uint64_t offset = 0;  // bytes of standard output up to the end of the message's line
};

struct Reported {
  TrialKey trial;
  LaunchId launch{};
  Position position;
  Work work = 0;
  Metrics metrics;
};

struct AttributesSet {
  TrialKey trial;
  LaunchId launch{};
  Position position;
  std::string attributes;  // a JSON object
};

struct CheckpointSaved {
  TrialKey trial;
  LaunchId launch{};
  Position position;
  Work work = 0;
  std::int64_t bytes = 0;
};

// Something the user should know of a trial: a report that was refused, output that was cut.
struct TrialNoted {
  TrialKey trial;
  LaunchId launch{};
  Position position;
  std::string note;
};

// A report of work that an earlier launch, or the parent of a fork, has reported already. The event
// is a sign of life. The report is not recorded a second time.
struct LaunchHeard {
  TrialKey trial;
  LaunchId launch{};
  Position position;
};

enum class Ending {
  kDone,        // the program ended well, or said that it is done with this trial
  kPaused,      // the launch left when it was asked to, and wants to go on later
  kFailed,      // the program ended badly, said that it failed, or cannot be run
  kLost,        // the launch never ran, or vanished through no fault of its own
  kStopped,     // in an imported study: the other tuner had given the trial up
  kNotStarted,  // the machine could not start the launch: a full disk, no more processes
  kReleased,    // the process handed the launch back, or had no room for it
  kBundleLost,  // the process died while it carried other launches too
};

struct LaunchEnded {
  TrialKey trial;
  LaunchId launch{};
  Position position;  // set if the worker itself reported the end
  Ending ending = Ending::kDone;
  // Why it ended; empty with kPaused. With kDone, what the program printed if it reported nothing.
  std::string reason;
  std::int64_t checkpoint_bytes = -1;  // size of the checkpoint folder now; -1: not known
  Work checkpoint_work = -1;           // 0: the checkpoint does not state its work; -1: not known
};

// A worker was silent for longer than its lease. It counts as dead, whatever it still does.
struct LeaseExpired {
  TrialKey trial;
  LaunchId launch{};
};

// The process of a launch said how many launches it takes at once. It says this when it connects,
// and when the number changes.
struct CapacityTold {
  TrialKey trial;
  LaunchId launch{};
  int capacity = 0;
  bool several_shapes = false;  // these launches may be of different shapes
};

// A launch did not leave within its grace period, and its process carries other launches. The other
// launches save and leave before the process is ended.
struct LaunchHung {
  TrialKey trial;
  LaunchId launch{};
};

// What a process measured while it trained this trial, or several trials of its shape at once
// (`measured` says how many).
struct Profiled {
  TrialKey trial;
  LaunchId launch{};
  Position position;
  Measurement measured;
};

struct RetryAsked {
  TrialKey trial;
};

// The user stops this trial. What the trial reported is kept.
struct TrialStopAsked {
  TrialKey trial;
};

// The time that a WakeAt command asked for has come.
struct Woken {};

struct Event {
  Time time{};
  std::variant<StudyCreated, StudyResumed, StudyStopAsked, ControllerStarted, DrainAsked, Proposed,
               Reported, AttributesSet, CheckpointSaved, TrialNoted, LaunchHeard, LaunchEnded,
               LeaseExpired, RetryAsked, Woken, PointsEnqueued, KnowledgeGiven, CheckpointCopied,
               NodesChanged, TrialStopAsked, CapacityTold, LaunchHung, Profiled, MeasurementsGiven,
               StudyOpened, StudyClosed, StudyPauseAsked>
      body;
};

// The study that the body of an event, or a command, names; 0: none.
template <typename Variant>
StudyId StudyOf(const Variant& one) {
  return std::visit(
      [](const auto& each) {
        if constexpr (requires { each.study; }) {
          return each.study;
        } else if constexpr (requires { each.trial.study; }) {
          return each.trial.study;
        } else {
          return StudyId{};
        }
      },
      one);
}

}  // namespace sluice
