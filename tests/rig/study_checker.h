#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "engine/engine.h"
#include "ledger/database.h"
#include "rig/stoppers/rung_oracle.h"
#include "wire/message.h"

namespace sluice {

// Watches one study from outside: what its engine does after each event, what its workers are told,
// and what of it is on disk. The engine may have other studies too.
class StudyChecker {
 public:
  // A value that only strangers report. A stranger is a process that is no worker of the study.
  static constexpr double kStrangersValue = -1e9;

  // `say` is told each problem.
  StudyChecker(StudyId study, std::function<void(std::string)> say)
      : study_(study), say_(std::move(say)), rungs_(study) {}

  void Say(std::string problem) { say_(std::move(problem)); }

  // The engine that has the study has applied an event.
  void Applied(const Engine& engine, const Event& event);
  // An event is on disk: before and after it is applied by an engine that has applied exactly the
  // events on disk (the shadow).
  void BeforeWritten(const Engine& shadow, const Event& event);
  void Written(const Engine& shadow, const Event& event);
  // The study is in this shadow from now on.
  void SetShadow(const Engine* shadow) { shadow_ = shadow; }
  const Engine& shadow() const { return *shadow_; }

  // The controller sends an acknowledgement of this message.
  void Acknowledged(wire::LaunchRef at, std::uint64_t seq);
  // The controller asks a worker to leave its launch.
  void ToldToLeave(wire::LaunchRef at);
  // A worker has received the acknowledgement of its report.
  void Told(TrialId trial, Work work);
  // A launch of the trial begins, with a checkpoint of this work.
  void Begins(const Trial& trial, Work checkpoint);
  // A controller takes the study over.
  void Recovered(const Study& study);
  // A message that a worker left in its spool. The controller must have read it.
  void Spooled(const std::string& line);
  // The run is over.
  void Finished(const Study& study);
  // Checks that all reports that were written are there, and that readers see what the engine
  // knows.
  void CheckReports(Database& database);
  void CheckRows(Database& database);

  // Tells the checker that the program of every trial ends by itself at this work, and that no
  // worker lies.
  void SetOwnEnd(Work work) { own_end_ = work; }
  // The program of this launch was asked to end, and ended well.
  void CutShort(wire::LaunchRef at) { cut_short_.emplace(at.trial, at.launch); }
  // Tells the checker that some processes train trials of several shapes at once, and others do
  // not. The engine may have mixed a bundle before it heard of one that does not.
  void AllowMixedBundles() { allows_mixed_ = true; }

  // The number of launches that were asked to yield their devices, or to move to others.
  int moves() const { return moves_; }

 private:
  // A message that a worker numbered.
  using MessageKey = std::tuple<TrialId, LaunchId, std::uint64_t>;

  void CountFailure(const Trial& trial, const Event& event);
  void CheckOwnEnd(const Study& study, const Trial& trial, const Event& event);
  void CheckTrial(const Study& study, const Trial& trial, const Event& event);
  void CheckStart(const Engine& engine, const Study& study, const Trial& trial, const Event& event);
  void CheckStudy(const Study& study);
  void CheckHold(const Study& study, const Event& event);

  StudyId study_;
  std::function<void(std::string)> say_;
  const Engine* shadow_ = nullptr;
  int most_retries_ = 0;     // that the study's file has ever allowed
  std::size_t running_ = 0;  // how many trials ran after the last event
  bool paused_ = false;      // after the last event
  bool allows_mixed_ = false;
  std::vector<std::string> hidden_;  // the devices that it must not use
  Work own_end_ = 0;                 // 0: not known
  // The state of a trial after the last event.
  struct Seen {
    TrialState state = TrialState::kWaiting;
    Work work = 0;
    LaunchId launch{};
    Work launch_work = 0;
    Work launch_target = 0;
    bool leaving = false;
    std::uint32_t failures = 0;  // since the last retry by hand, as the checker counts
    std::uint32_t charged = 0;   // failures as the engine counts
    int lost_bundles = 0;        // bundles that died under it since one of its launches ended well
  };
  std::vector<Seen> seen_;
  std::vector<TrialId> open_;  // trials that may still change; the others change only by a retry
  int moves_ = 0;
  RungOracle rungs_;              // watches the shadow
  std::set<MessageKey> durable_;  // numbered messages whose events are on disk
  // The highest number of those, by launch.
  std::map<std::pair<TrialId, LaunchId>, std::uint64_t> highest_;
  std::set<std::pair<TrialId, LaunchId>> cut_short_;  // their programs were asked to end
  std::set<std::pair<TrialId, LaunchId>> lost_;  // lost launches: their messages no longer count
  // Trials that ran on a node when it was lost. They may still run there.
  std::set<TrialId> astray_;
  std::uint64_t reports_ = 0;
  std::set<std::pair<TrialId, Work>> reported_;  // on disk
};

}  // namespace sluice
