#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "control/site.h"
#include "rig/fault_plan.h"
#include "sim/timeline.h"
#include "wire/message.h"
#include "wire/outbox.h"

namespace sluice {

// What a trial's program is like: the same for all trials of a study.
struct ProgramTraits {
  std::string study;            // its name
  bool speaks = true;           // the protocol; else it prints lines
  bool reuse = false;           // runs one trial after another
  int capacity = 1;             // trials that it trains at once; above 1 it speaks version 2
  bool several_shapes = false;  // trains trials of several shapes at once
  bool hasty = false;           // says that it is ready before its messages are acknowledged
  bool stubborn = false;        // ends only when it is killed
  bool polite = false;          // ends with status 0 if it is asked to end
  bool endless = false;         // does not know its target, and cannot be told
  Duration startup = std::chrono::milliseconds(500);
  Duration step = std::chrono::milliseconds(400);
  // Each of its processes has message numbers of its own, and can leave messages in the spool.
  bool counts = true;
  bool careless = false;  // saves before its messages are acknowledged or in the spool
  bool misnames = false;  // some of its processes report other numbers than the objective
  Work every = 1;         // reports at multiples of this work, and at its end
  double save = 0.3;      // the chance of a save at each step
  Work own_end = 30;      // the work at which it ends by itself
  Duration grace{0};      // how long its launcher waits before it kills the program
  // Its study has a time-out for trials or reports. Without a time-out, a program that hangs cannot
  // be distinguished from a slow one, unless it is known to speak the protocol.
  bool has_timeout = false;
};

struct Checkpoint {
  Work work = 0;
  std::int64_t bytes = 0;
};

// The files of a launch, and the files of a process that was started for a launch. The files
// outlive launch and process.
struct LaunchFiles {
  std::string claim;        // the worker that claimed it; empty: none
  bool taken_back = false;  // claimed by a controller, so that no worker can
  bool paused = false;
  bool begun = false;     // some process began it
  int conversations = 0;  // processes that have spoken for it
  // The launches that its process still trained when it exited, this one among them.
  std::vector<wire::LaunchRef> together;
  std::vector<std::string> spool;
  std::vector<std::string> spool_noise;  // lines that must not count as messages of the launch
};
struct HostFiles {
  Speaker speaker;
  std::string output;
  std::optional<LaunchEnd> exit;  // nullopt: its launcher was killed, or still lives
};

class FaultWorker;

// What a worker needs of its machine and of the controller.
class WorkerWorld {
 public:
  virtual ~WorkerWorld() = default;
  virtual Timeline& timeline() = 0;
  virtual const FaultPlan& faults() const = 0;
  virtual LaunchFiles& FilesOf(wire::LaunchRef at) = 0;
  virtual HostFiles& HostFilesOf(const std::string& worker) = 0;
  virtual Checkpoint& CheckpointOf(TrialId trial) = 0;
  // The launch that owns the trial's checkpoint folder. The package saves for no other launch.
  virtual LaunchId& OwnerOf(TrialId trial) = 0;
  virtual double ValueAt(TrialId trial, Work work) = 0;
  // Connects to the controller; false if none can be reached. Answers arrive later, by Hear and
  // Closed.
  virtual bool Connect(FaultWorker& worker) = 0;
  virtual void Disconnect(FaultWorker& worker) = 0;
  virtual void Send(FaultWorker& worker, std::string line) = 0;
  virtual void Printed(FaultWorker& worker) = 0;
  // The process begins to train a trial.
  virtual void Begins(const FaultWorker& worker, wire::LaunchRef at) = 0;
  // Reports that a controller has done something that it must not do.
  virtual void Say(std::string problem) = 0;
  // A report of this work was acknowledged to the worker.
  virtual void Acknowledged(TrialId trial, Work work) = 0;
  // The worker's process is gone; the object is destroyed later.
  virtual void Exited(FaultWorker& worker) = 0;
};

// The process of a trial's program, with or without the package. It trains one trial at a time, or
// several at once (ProgramTraits::capacity). It follows docs/protocol.md, except where the fault
// plan makes it misbehave. The object must outlive the timeline's last step.
class FaultWorker {
 public:
  FaultWorker(WorkerWorld& world, std::string name, const ProgramTraits& traits, Grant grant,
              Random random);
  FaultWorker(const FaultWorker&) = delete;

  // Starts the process. `assign` is what its trial file says.
  void Start(const wire::Assign& assign);
  void Signal(Force force);
  // The process ends without an exit record, as if its launcher were killed.
  void Vanish();
  // The process is gone with its node: not even its connection is closed.
  void Freeze() { alive_ = false; }

  // Called by the connection: a line has arrived, or the connection is closed.
  void Hear(std::string_view line);
  void Closed();

  const std::string& name() const { return name_; }
  Speaker speaker() const { return {.speaks = true, .pid = pid_, .start = 1, .image = image_}; }
  const Grant& grant() const { return grant_; }
  bool alive() const { return alive_; }
  std::string Describe() const;  // for people
  // The launches that it trains.
  std::vector<wire::LaunchRef> Trains() const;
  // The launches that it carries: those it trains, and those with messages to deliver.
  std::vector<wire::LaunchRef> Carries() const;
  // The controller has given the process up, and the process does not know.
  void BecomeZombie() { zombie_ = true; }
  bool zombie() const { return zombie_; }
  // Whether it lives, has not hung, and has been connected for a whole lease.
  bool Speaks() const {
    return alive_ && !hung_ && connected_ && world_.timeline().now() > connected_since_ + lease_;
  }

 private:
  enum class Left { kNot, kDone, kPaused, kFailed, kReleased };
  struct Task {
    Task(wire::LaunchRef its, std::uint64_t conversation)
        : at(its), outbox(its, conversation), spooled(outbox.last()) {}
    wire::LaunchRef at;
    wire::Outbox outbox;
    Work work = 0;
    Work reported = 0;          // by this process, for this launch
    std::uint64_t spooled = 0;  // the number of the last message in the spool
    std::optional<Work> target;
    std::optional<Work> first_target;  // the target when it began
    Left left = Left::kNot;
    bool deaf = false;  // ignores requests to leave
  };

  bool IsBundle() const { return traits_.capacity > 1; }
  Task* Find(wire::LaunchRef at);
  void Begin(wire::LaunchRef at, std::optional<Work> target);
  void Boot();
  void FailToStart() { Exit(LaunchEnd::Kind::kNotStarted, "cannot start 'train'"); }
  bool IsAtEnd(const Task& task) const;
  bool CanTrain(const Task& task) const { return task.left == Left::kNot && !Awaits(task); }
  void PlanStep();
  void Step();
  void Measure(wire::LaunchRef at, int trials);
  void Train(Task& task);
  wire::Values ValuesOf(const Task& task) const;
  bool Misbehave(wire::LaunchRef victim);
  bool MisbehaveAsBundle(wire::LaunchRef victim);
  void Shrink();
  void Replace(wire::LaunchRef at);
  void Lie(Task& task);
  bool LieOfRareCases(const Task& task);
  void ReportAstray(wire::LaunchRef at, std::uint64_t seq, Work work = 1);
  void LieOfVersion(wire::LaunchRef at);
  void PrintNonsense(const Task& task);
  std::string LastWords();
  void Save(Task& task);
  void Report(Task& task, Work work, wire::Values values);
  template <typename Message>
  void Say(Task& task, Message message) {
    const std::string& line = task.outbox.Add(std::move(message));
    if (connected_) return world_.Send(*this, line);
    if (!traits_.careless) Keep(task);
  }
  void SayRaw(const wire::FromWorker& message);
  bool CanKeep() const { return traits_.speaks && traits_.counts; }
  void Keep(Task& task);
  void KeepAll();
  void Leave(Task& task, Left how);
  void FinishLeaving(wire::LaunchRef at);
  void LeaveIdle();
  void Connect();
  wire::Hello MakeHello();
  void Greet();
  void Beat();
  void GoAlone();
  void HearAssign(const wire::Assign& assign);
  void HearAck(Task& task, std::uint64_t seq);
  void Exit(LaunchEnd::Kind kind, std::string reason);
  void After(Duration delay, void (FaultWorker::*what)());
  bool Awaits(const Task& task) const;

  WorkerWorld& world_;
  std::string name_;
  ProgramTraits traits_;
  Grant grant_;
  Random random_;
  // Separate streams, whose draws do not change those of random_.
  Random more_;
  Random odd_;
  Random rare_;
  std::int64_t pid_;
  std::uint64_t image_ = 1;
  bool alive_ = true;
  bool hung_ = false;
  bool zombie_ = false;
  bool connected_ = false;
  bool step_planned_ = false;
  bool beats_ = false;
  bool welcomed_ = false;  // the controller knows that it speaks the protocol
  int slowness_ = 1;
  Duration lease_ = std::chrono::seconds(60);
  Time alone_since_{};
  Time connected_since_{};
  int capacity_ = 1;
  bool several_shapes_ = false;
  bool misnames_ = false;  // it reports other numbers than the objective
  bool shrank_ = false;
  std::map<wire::LaunchRef, Task> tasks_;  // at most one unless it is a bundle
};

}  // namespace sluice
