#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "engine/command.h"
#include "engine/event.h"
#include "engine/study.h"
#include "engine/trial.h"
#include "policy/policy.h"
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
};
std::string_view Name(Finish finish);

// The measured time that something takes: a mean that forgets old measurements slowly.
struct Price {
  double seconds = 0;
  std::int64_t count = 0;
  static constexpr std::int64_t kMemory = 16;
  void Learn(Duration took) {
    count = std::min(count + 1, kMemory);
    seconds += (Seconds(took) - seconds) / static_cast<double>(count);
  }
};

// A study as the engine knows it.
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
  Duration leave{0};             // the longest that a launch took of late to save and leave
  bool leave_known = false;      // `leave` was measured
  Work furthest = 0;             // the most work that any trial has reported
  Finish ending = Finish::kNot;  // why no new work is begun
  bool finished = false;         // it has ended, and nothing runs
  bool exhausted = false;
  std::uint32_t failed_starts = 0;  // consecutive rounds of starts that the machine failed
  Time hold_until{};                // nothing is started before this time
  std::string pause;                // why the machine could not start its trials; empty: it could
  // Counted since the study was made, was resumed, or had a trial retried by hand: trials that are
  // over, the failed trials among those, and the failed trials that never reported.
  std::uint32_t over = 0;
  std::uint32_t failed = 0;
  std::uint32_t fruitless = 0;
  bool has_enough_room = false;  // in the plan being made: the study cannot use more room
  std::uint64_t asked = 0;       // proposals asked for
  std::uint64_t answered = 0;
  std::uint64_t enqueued = 0;  // points given by hand so far
  std::deque<Point> queue;     // enqueued points that are not trials yet
  std::uint32_t groups = 0;
  TrialId best{};
  std::int64_t checkpoint_bytes = 0;
  std::set<TrialId> saved;   // trials with a checkpoint
  std::deque<Trial> trials;  // trial n is at n - 1; a reference stays good when another is made
  int forks = 0;             // among the trials; trials_wanted does not count them
  Work group_target = 0;     // of the latest group, for stoppers that gather trials
  std::array<int, kTrialStates> counts{};
  std::vector<TrialId> running;  // in order of starting
  std::vector<TrialId> waiting;  // in the order they are to start
  std::unique_ptr<Stopper> stopper;
  double typical_work = 0;  // work that a trial does on average under the stopper
  Forecasts forecasts;      // empty where the policy does not look at them

  const Trial& trial(TrialId id) const { return trials[Number(id) - 1]; }
  int count(TrialState state) const { return counts[static_cast<std::size_t>(state)]; }
  // Trials that a sampler proposed or a user gave: those that `trials_wanted` counts.
  int proposed() const { return static_cast<int>(trials.size()) - forks; }
  // How many more trials may be made, besides those with proposals on their way.
  int room() const;
  // When launches are told to leave, so that they have saved by the deadline.
  Time stops_at() const;
};

// The reason that a leaving launch is told again, when a controller takes over or when its worker
// comes back.
StopReason ToldReason(const Study& study, const Trial& trial);

// What becomes of a message about a launch.
enum class Admission {
  kNew,
  kSeen,       // sent again: acknowledge, do not record
  kRetrained,  // work that an earlier launch has reported: LaunchHeard
  kBackwards,  // work that this launch has passed: say so, do not record
  kStale,      // of a launch that was given up, or of none: refuse
};

// The heart: events in, commands out. No clock, thread, file or socket; the same events give the
// same commands and the same digest. One thread at a time.
class Engine {
 public:
  explicit Engine(std::unique_ptr<Policy> policy);

  // An event that belongs to a launch must be admissible (Admit); otherwise it changes nothing.
  std::vector<Command> Apply(const Event& event);

  Admission Admit(TrialKey trial, LaunchId launch, Position position) const;
  Admission Admit(const Reported& report) const;

  // Commands that may not have been carried out, for a controller that takes over. The copies among
  // them must be made before the commands that the takeover itself (ControllerStarted) causes.
  std::vector<Command> Unfinished() const;

  const Study* study(StudyId id) const;
  const Study* FindStudy(std::string_view name) const;
  const std::vector<std::unique_ptr<Study>>& studies() const { return studies_; }
  const Trial* trial(TrialKey key) const;
  const Cluster& cluster() const { return cluster_; }
  bool draining() const { return draining_; }
  Time now() const { return now_; }  // of the last event
  int running() const;

  // Trials that changed since the last call, each once, in order of first change.
  std::vector<TrialKey> TakeChanged();

  // The whole state, except for what the studies' files say. Load takes that from `specs`: the
  // studies as created, by id. Load is for a new engine. It fails with Corruption on bytes that
  // Save does not write, and the engine is then of no use any more.
  std::string Save() const;
  Status Load(std::string_view bytes, std::vector<StudyCreated> specs);
  std::uint64_t Digest() const;

 private:
  void On(const StudyCreated& event);
  void On(const StudyResumed& event);
  void On(const StudyStopAsked& event);
  void On(const ControllerStarted& event);
  void On(const DrainAsked& event);
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
  void On(const CheckpointCopied& event);

  Study* FindStudy(StudyId id);
  Study& Made(const StudyCreated& event);
  Trial* LiveLaunch(TrialKey key, LaunchId launch, Position position);
  void Changed(Study& study, Trial& trial);
  void SetState(Study& study, Trial& trial, TrialState state);
  void Enqueue(Study& study, Trial& trial);
  Trial& MakeTrial(Study& study, Point point);
  Trial& Add(Study& study, Trial trial);
  Trial& MakeFork(Study& study, const Ruling& ruling);
  void OnFork(Study& study, const Proposed& event);
  void SaveAndComeBack(Study& study, Trial& parent);
  void AskCopy(Study& study, Trial& fork);
  void AskCopiesOf(Study& study, TrialId parent);
  static CopyCheckpoint CopyOf(const Study& study, const Trial& fork);
  static void GoOnFrom(const Study& study, Trial& fork, Work work);
  void BeginAnew(Study& study, Trial& fork, std::string_view why);
  void JoinGroup(Study& study, Trial& trial);

  void Judge(Study& study, Trial& trial);
  static void SetTarget(Trial& trial, Work target);
  void TakeResult(Study& study, Trial& trial);
  static void PassLevels(const Study& study, Trial& trial);
  void Measure(Study& study, Trial& trial, const Reported& report);
  void MeasurePace(Trial& trial, const SpeedSituation& situation, double speed);
  void MeasureAnew(BundleId bundle);
  void Follow(Study& study, const Ruling& ruling);
  void CheckStopAt(Study& study, const Reported& report);
  void Leave(Study& study, Trial& trial, StopReason reason);
  void EndLaunch(Study& study, Trial& trial, const LaunchEnded& event);
  void Settle(Study& study, Trial& trial, const LaunchEnded& event);
  void LoseLaunchesOnLostNodes();
  void Fail(Study& study, Trial& trial, std::string_view reason);
  void PutBack(Study& study, Trial& trial, std::string_view reason);
  void Drain(StopReason reason);
  void Reopen(Study& study);
  void CountOver(Study& study, const Trial& trial);
  static bool DidAsTold(const Study& study, const Trial& trial);
  static bool IsAhead(const Trial& trial, const LaunchEnded& event);
  void BeginAgain(Study& study, Trial& trial);
  void HoldStarts(Study& study, std::string_view reason);
  void Close(Study& study, Trial& trial, TrialState state);
  void EndSearch(Study& study, Trial& trial, bool failed);
  void SetSaved(Study& study, Trial& trial, std::int64_t bytes);
  void BoundCheckpoints(Study& study);

  static bool Open(const Study& study);
  bool Holds(const Study& study) const;
  int Left(const Study& study) const;
  bool MayMakeMore(const Study& study) const;
  const Study* LeaderOf(const Study& study) const;
  bool IsFollowed(const Study& study) const;
  const Point* ToTransfer(const Study& study) const;
  bool Transfer(Study& study);
  bool AllMade(const Study& study) const;
  double LeaderProgress(const Study& study) const;
  void End(Study& study, Finish reason);
  void SaveAll(Study& study);
  void CloseIfAllMade(Study& study);
  void FinishIfIdle(Study& study);
  void Replan();
  const Forecast* ForecastOf(Study& study, TrialId trial) const;
  const WorkView& View();
  void StartPlaced(const Plan& plan);
  void GiveUp(Study& study, TrialId id);
  void YieldMisplaced(const Plan& plan);
  bool Feed(Study& study, int wanted);
  void Resume(Study& study, const TrialGroup& group);
  void CheckTimeouts(Study& study);
  void AskWakes(const Study& study);
  void AskWake(Time time);

  std::unique_ptr<Policy> policy_;
  Cluster cluster_;
  SpeedModel speeds_;                            // empty where the policy does not look at speeds
  std::vector<std::unique_ptr<Study>> studies_;  // by id
  bool draining_ = false;
  bool replan_ = false;
  Time now_{};
  Time next_wake_ = kNever;
  std::vector<Command> commands_;
  WorkView view_;  // here only to keep its memory from plan to plan
  std::vector<TrialKey> changed_;
};

}  // namespace sluice
