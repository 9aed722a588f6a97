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

// Everything that can happen. An event is in the ledger before the commands it causes are carried
// out, except for Propose and WakeAt, which touch nothing outside.

// The version of the rules that give a study's events their meaning. A study keeps the version that
// it was made with, so that its events always mean what they meant. Since rules 2
//   - a program that exits with status 0, past the target that its launch was given, has ended by
//     itself (unless it was told its {budget}). Under rules 1 its trial ran again;
//   - a program that does not speak the protocol is ended when the controller drains. Under rules 1
//     it went on;
//   - failures can end a study, and some notes say more.
// Since rules 3 trials are compared at rungs by their result so far. Before, it was by the value at
// the rung.
constexpr int kRules = 3;

struct StudyCreated {
  StudyId study{};
  std::string source;  // the study file, as it was
  std::string folder;  // where its program runs
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
  std::optional<StudyChange> change = std::nullopt;  // its file was edited
};

struct StudyStopAsked {
  StudyId study{};
};

// A controller took over with these nodes, in the order of their ids. Nodes that are missing are
// down. Launches that ran before may still run: the workforce finds out what became of each.
struct ControllerStarted {
  std::vector<Node> nodes;
};

// Nodes were lost, came back or changed: all nodes are listed again. Launches on a node that is
// down are lost; their later messages are refused.
struct NodesChanged {
  std::vector<Node> nodes;
};

// No new work. Running launches are asked to save and leave.
struct DrainAsked {
  // Running launches are left alone. Written while no controller runs, before events that would
  // otherwise start trials.
  bool only_starts = false;
};

// The answer to a Propose command. Without a point, the space is exhausted; a fork without one
// keeps the parameters of its parent.
struct Proposed {
  StudyId study{};
  std::uint64_t counter = 0;
  std::optional<Point> point;
  TrialId fork{};
};

// What came of a CopyCheckpoint.
struct CheckpointCopied {
  TrialKey trial;            // the fork
  std::optional<Work> work;  // of the checkpoint that was copied, if it says
  std::string error;         // empty: the copy is there
};

// Points to try before the sampler is asked, in this order. They wait for the next plan.
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

// What the sampler is to know from the beginning. The engine has no use for it.
struct KnowledgeGiven {
  StudyId study{};
  std::string source;  // which trials of which study, for people
  std::vector<KnownTrial> trials;
};

// What processes of an earlier study measured that had the same program.
struct MeasurementsGiven {
  StudyId study{};
  std::string source;  // which study, for people
  std::vector<Measurement> measured;
};

using Metrics = std::vector<std::pair<std::string, double>>;

// Where an event stands in the messages of its launch. Both numbers rise within a launch. A message
// has one of them; an event of the controller's own has neither. A message with a number that is
// not above the last one seen was seen before.
struct Position {
  std::uint64_t seq = 0;     // of the worker's connection
  std::uint64_t offset = 0;  // of standard output, just after the line
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

// A report of work that an earlier launch, or the parent of a fork, has reported already. It is a
// sign of life, and is not recorded twice.
struct LaunchHeard {
  TrialKey trial;
  LaunchId launch{};
  Position position;
};

enum class Ending {
  kDone,        // the program ended well, or said that it is done with this trial
  kPaused,      // it left as it was asked to, and wants to go on later
  kFailed,      // it ended badly, or said so, or its program cannot be run
  kLost,        // it never ran, or vanished without its own fault
  kStopped,     // another tuner, from which the study was imported, had given it up
  kNotStarted,  // the machine could not start it: a full disk, no more processes
  kReleased,    // its process handed it back, or had no room for it
  kBundleLost,  // its process died, and carried other launches too
};

struct LaunchEnded {
  TrialKey trial;
  LaunchId launch{};
  Position position;  // when the worker itself said so
  Ending ending = Ending::kDone;
  // Not with kPaused. With kDone, what it printed if it reported nothing.
  std::string reason;
  std::int64_t checkpoint_bytes = -1;  // size of the checkpoint folder now; -1: not known
  Work checkpoint_work = -1;           // of the checkpoint, 0 if it does not say; -1: not known
};

// A worker was silent past its lease: it counts as dead, whatever it still does.
struct LeaseExpired {
  TrialKey trial;
  LaunchId launch{};
};

// The process of a launch said how many launches it takes at once: when it connected, or because
// that has changed.
struct CapacityTold {
  TrialKey trial;
  LaunchId launch{};
  int capacity = 0;
  bool several_shapes = false;  // they may be of different shapes
};

// A launch did not leave within its grace period, and its process carries other launches. Those
// save and leave before the process is ended.
struct LaunchHung {
  TrialKey trial;
  LaunchId launch{};
};

// What a process measured while it trained so many trials of the shape that this trial has.
struct Profiled {
  TrialKey trial;
  LaunchId launch{};
  Position position;
  Measurement measured;
};

struct RetryAsked {
  TrialKey trial;
};

// The user stops this trial. What it reported stays.
struct TrialStopAsked {
  TrialKey trial;
};

// A moment that a WakeAt asked for has come.
struct Woken {};

struct Event {
  Time time{};
  std::variant<StudyCreated, StudyResumed, StudyStopAsked, ControllerStarted, DrainAsked, Proposed,
               Reported, AttributesSet, CheckpointSaved, TrialNoted, LaunchHeard, LaunchEnded,
               LeaseExpired, RetryAsked, Woken, PointsEnqueued, KnowledgeGiven, CheckpointCopied,
               NodesChanged, TrialStopAsked, CapacityTold, LaunchHung, Profiled, MeasurementsGiven>
      body;
};

}  // namespace sluice
