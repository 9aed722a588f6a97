#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "engine/command.h"
#include "engine/engine_state.h"
#include "engine/event.h"
#include "engine/parts/checkpoints.h"
#include "engine/parts/departures.h"
#include "engine/parts/endings.h"
#include "engine/parts/forks.h"
#include "engine/parts/judge.h"
#include "engine/parts/memory_meter.h"
#include "engine/parts/planner.h"
#include "engine/parts/speed_meter.h"
#include "engine/parts/transfers.h"
#include "engine/study_state.h"
#include "engine/trial.h"
#include "policy/policy.h"

namespace sluice {

// The heart of the program: events in, commands out. It has no clock, thread, file or socket. The
// same events give the same commands and the same digest. Only one thread may use it at a time.
class Engine {
 public:
  // Each study is planned by the policy that it names. Studies that have work at the same time
  // share the devices by their weights (policy/sharing.h).
  Engine() : Engine(nullptr) {}
  // This policy plans all studies together.
  explicit Engine(std::unique_ptr<Policy> policy) : state_(std::move(policy)) {}
  Engine(const Engine&) = delete;  // its parts refer to its state
  Engine& operator=(const Engine&) = delete;

  // Takes over the only study of another engine. StudyOpened is to be applied next. Trials that run
  // keep what they were granted, even if it is more than is free.
  void Open(std::unique_ptr<Engine> alone);
  // Gives a study an engine of its own. Nothing of the study may run. To be called after
  // StudyClosed was applied, and after TakeChanged. After its last study has left, an engine is as
  // new: it knows no nodes.
  std::unique_ptr<Engine> Close(StudyId study);
  // Forgets all that does not belong to a study. There may be no study.
  void BeginAnew();

  // Takes in an event, and returns the commands that it causes. An event of a launch changes
  // nothing unless Admit says kNew for it.
  std::vector<Command> Apply(const Event& event);

  Admission Admit(TrialKey trial, LaunchId launch, Position position) const {
    return state_.Admit(trial, launch, position);
  }
  Admission Admit(const Reported& report) const { return state_.Admit(report); }

  // Commands that may not have been carried out, for a controller that takes over. The controller
  // must begin the copies among them before it carries out what its own first event
  // (ControllerStarted) causes. Commands that collide with a copy then wait for it (Copies), the
  // others do not.
  std::vector<Command> Unfinished() const;
  // The same for one study.
  std::vector<Command> Unfinished(StudyId study) const;

  const Study* study(StudyId id) const { return state_.FindStudy(id); }
  const Study* FindStudy(std::string_view name) const { return state_.FindStudy(name); }
  const std::vector<std::unique_ptr<Study>>& studies() const { return state_.studies; }
  const Trial* trial(TrialKey key) const { return state_.FindTrial(key); }
  const Cluster& cluster() const { return state_.cluster; }
  bool draining() const { return state_.draining; }
  // Whether nothing of this study is started, because it is paused or all studies drain.
  bool IsHeld(const Study& study) const { return state_.draining || study.paused; }
  Time now() const { return state_.now; }  // the time of the last event
  int running() const;
  // A measurement by the trial's process, together with where the trial runs: while the process
  // trained `trials` trials at once, it took `bytes` of device memory, and each trial did
  // `work_per_second`. Empty if a device that was
  // granted to the trial is no longer on its node.
  Measurement MeasuredBy(TrialKey trial, int trials, std::int64_t bytes,
                         double work_per_second) const;

  // Trials that changed since the last call, each once, in order of first change.
  std::vector<TrialKey> TakeChanged();

  // The studies in bytes that Save returned, in the order of their ids; empty if the bytes are not
  // what Save writes.
  static std::vector<StudyId> StudiesIn(std::string_view bytes);
  // Save returns the whole state, except for what the studies' files say. Load restores that state
  // in a new engine, and takes what the files say from `specs`: the studies as created, with the
  // later changes to their files, in the order of their ids. Load fails with Corruption if the
  // bytes are not what Save writes. The engine must not be used after that.
  std::string Save() const;
  Status Load(std::string_view bytes, std::vector<StudyCreated> specs);
  std::uint64_t Digest() const;

 private:
  void On(const StudyCreated& event);
  void On(const StudyResumed& event);
  void On(const StudyStopAsked& event);
  void On(const ControllerStarted& event);
  void On(const DrainAsked& event);
  void On(const StudyOpened& event);
  void On(const StudyPauseAsked& event);
  void On(const StudyClosed&) {}
  void On(const Proposed& event);
  void On(const Reported& event);
  void On(const AttributesSet& event);
  void On(const CheckpointSaved& event);
  void On(const TrialNoted& event);
  void On(const LaunchHeard& event);
  void On(const LaunchEnded& event);
  void On(const LeaseExpired& event);
  void On(const RetryAsked& event);
  void On(const TrialStopAsked& event);
  void On(const Woken& event);
  void On(const PointsEnqueued& event);
  void On(const KnowledgeGiven&) {}
  void On(const NodesChanged& event);
  void On(const CheckpointCopied& event) { checkpoints_.OnCopied(event); }
  void On(const CapacityTold& event);
  void On(const LaunchHung& event);
  void On(const Profiled& event);
  void On(const MeasurementsGiven& event);

  void TakenOver(Study& study);
  Trial* LiveLaunch(TrialKey key, LaunchId launch, Position position);
  void Reopen(Study& study);
  void AddUnfinished(const Study& study, std::vector<Command>& commands) const;

  EngineState state_;
  Transfers transfers_{state_};
  SpeedMeter speed_meter_{state_};
  MemoryMeter memory_meter_{state_};
  Checkpoints checkpoints_{state_};
  Departures departures_{state_};
  Forks forks_{state_, checkpoints_, departures_};
  Judge judge_{state_, transfers_, speed_meter_, checkpoints_, departures_, forks_};
  Endings endings_{state_, speed_meter_, checkpoints_, departures_, judge_};
  Planner planner_{state_, transfers_, speed_meter_, departures_, judge_};
};

}  // namespace sluice
