#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "cluster/speed_model.h"
#include "engine/command.h"
#include "engine/event.h"
#include "engine/study_state.h"
#include "policy/policy.h"
#include "policy/sharing.h"

namespace sluice {

// What is to be done with a message about a launch.
enum class Admission {
  kNew,
  kSeen,       // sent again: acknowledge it, do not record it
  kRetrained,  // its work was reported by an earlier launch: record it as LaunchHeard
  kBackwards,  // its work is not above this launch's last report: note it, do not record it
  kStale,      // of a launch that was given up or is not known: refuse
};

// All that events change, and the commands that the present event has caused so far. The parts of
// the engine share this state. They lie in the folder parts:
//   planner.h        starts trials on free devices, and sees when a study has ended
//   divider.h        which devices each study may use while several have work
//   work_viewer.h    what the policy is shown
//   judge.h          what a report means for its trial and its study
//   endings.h        what the end of a launch means for its trial
//   departures.h     tells launches to leave
//   checkpoints.h    which checkpoints are kept, removed and copied
//   forks.h          makes forks
//   transfers.h      which study trains the best point of another
//   speed_meter.h    how fast trials train
//   memory_meter.h   how much device memory their processes take
struct EngineState {
  explicit EngineState(std::unique_ptr<Policy> policy);

  // Plans all studies together, whatever policies they name. Null: each study is planned by the
  // policy that it names, on its part of the devices.
  std::unique_ptr<Policy> only_policy;
  Cluster cluster;
  SpeedModel speeds;                            // empty where no policy looks at speeds
  std::vector<std::unique_ptr<Study>> studies;  // by id
  bool draining = false;
  Time now{};  // of the last event
  Time next_wake = kNever;
  std::vector<Command> commands;
  std::vector<TrialKey> changed;

  Policy& PolicyOf(const Study& study) const {
    return only_policy != nullptr ? *only_policy : *study.policy;
  }
  const Study* FindStudy(StudyId id) const;
  Study* FindStudy(StudyId id) { return const_cast<Study*>(std::as_const(*this).FindStudy(id)); }
  const Study* FindStudy(std::string_view name) const;
  const Trial* FindTrial(TrialKey key) const;
  // The same for a study or trial that is known to exist.
  Study& study(StudyId id) { return *FindStudy(id); }
  Trial& trial(TrialKey key) { return study(key.study).trial(key.trial); }

  Admission Admit(TrialKey key, LaunchId launch, Position position) const;
  Admission Admit(const Reported& report) const;

  // Makes the policy that the study names, unless one policy plans all studies.
  void SetPolicy(Study& study) const;
  Study& Insert(std::unique_ptr<Study> study);
  // Adds a study as its file describes it, with a stopper that has seen nothing yet.
  Study& AddStudy(const StudyCreated& event);
  Trial& MakeTrial(Study& study, Point point);
  Trial& AddTrial(Study& study, Trial trial);
  void SetState(Study& study, Trial& trial, TrialState state);
  void MarkChanged(const Study& study, Trial& trial);
  // The running trials that share this trial's process, this trial included.
  std::vector<TrialId> BundleOf(const Study& study, const Trial& trial) const;
  // Records that the process of this trial takes `capacity` launches at once.
  void SetCapacity(Study& study, const Trial& trial, int capacity);

  // Counts what studies have had of the cluster up to now. To be called before nodes change.
  void SettleUse();
  // What studies have had counts from now on: a study has come or gone, and devices are divided
  // anew.
  void CountAnew();
  // The running launches of a study that comes from elsewhere take what they hold here too.
  void TakeHeld(Study& study);
  // A launch of the study takes what it was granted, or gives it back.
  void Take(Study& study, const Grant& grant);
  void Release(Study& study, const Grant& grant);

  // Asks to be woken at this time, for the sake of this study.
  void AskWake(Study& study, Time time);
  // Asks for all wake-ups that the study needs.
  void AskWakes(Study& study);
};

}  // namespace sluice
