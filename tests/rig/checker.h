#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "engine/engine.h"
#include "ledger/ledger.h"
#include "rig/rung_oracle.h"
#include "wire/message.h"

namespace sluice {

// Watches a study from outside: what its engine does after each event, what reaches the disk, what
// workers are told, and what a restart finds. Keeps the first problem that it finds.
class Checker {
 public:
  // A value that only strangers report. A stranger is a process that is no worker of the study.
  static constexpr double kStrangersValue = -1e9;

  // The first problem; empty if there is none.
  const std::string& problem() const { return problem_; }
  void Say(std::string problem);

  // The engine has applied an event.
  void Applied(const Engine& engine, const Event& event);
  // A batch is on disk.
  void Durable(const Batch& batch);
  // Writing a batch was interrupted, or failed. The batch may be on disk, now or after a power cut,
  // until another batch is written.
  void InDoubt(Batch batch);
  // The controller sends an acknowledgement of this message.
  void Acknowledged(wire::LaunchRef at, std::uint64_t seq);
  // The controller asks a worker to leave its launch.
  void ToldToLeave(wire::LaunchRef at);
  // A worker has received the acknowledgement of its report.
  void Told(TrialId trial, Work work);
  // A launch of the trial begins, with a checkpoint of this work.
  void Begins(const Trial& trial, Work checkpoint);
  // A controller takes over with this engine, made from what the ledger says. With `in_depth`,
  // everything that ever happened is replayed too.
  void Recovered(Ledger& ledger, const Engine& engine, bool in_depth);
  // A message that a worker left in its spool. The controller must have read it.
  void Spooled(const std::string& line);
  // The run is over.
  void Finished(Ledger& ledger, const Engine& engine);

  // Tells the checker that the program of every trial ends by itself at this work, and that no
  // worker lies.
  void SetOwnEnd(Work work) { own_end_ = work; }
  // The program of this launch was asked to end, and ended well.
  void CutShort(wire::LaunchRef at) { cut_short_.emplace(at.trial, at.launch); }
  // Tells the checker that some processes train trials of several shapes at once, and others do
  // not. The engine may have mixed a bundle before it heard of one that does not.
  void AllowMixedBundles() { allows_mixed_ = true; }

  std::uint64_t events() const { return events_; }
  // The number of events other than Woken, which only tells the time.
  std::uint64_t progress() const { return progress_; }
  // The number of launches that were asked to yield their devices, or to move to others.
  int moves() const { return moves_; }

 private:
  // The engine that the study is in, as it is on disk.
  const Engine& shadow() const { return alone_ != nullptr ? *alone_ : shared_; }
  // A message that a worker numbered.
  using MessageKey = std::tuple<TrialId, LaunchId, std::uint64_t>;

  void CountFailure(const Trial& trial, const Event& event);
  void CheckOwnEnd(const Study& study, const Trial& trial, const Event& event);
  void CheckTrial(const Study& study, const Trial& trial, const Event& event);
  void CheckStart(const Study& study, const Trial& trial, const Event& event);
  void CheckStudy(const Study& study);
  void CheckBooks(const Engine& engine, const Study& study);
  void CheckReports(Database& database);
  void CheckRows(Database& database);
  void CheckReplay(Database& database, std::uint64_t written);

  std::string problem_;
  std::uint64_t events_ = 0;
  int most_retries_ = 0;     // that the study's file has ever allowed
  std::size_t running_ = 0;  // how many trials ran after the last event
  bool allows_mixed_ = false;
  Work own_end_ = 0;  // 0: not known
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
  Time time_{};
  std::uint64_t progress_ = 0;
  int moves_ = 0;
  // These have applied the events that are on disk, and no others: the engine that studies share,
  // and that of the study while it is alone.
  Engine shared_;
  std::unique_ptr<Engine> alone_ = std::make_unique<Engine>();
  RungOracle rungs_;              // watches the shadow
  std::set<MessageKey> durable_;  // numbered messages whose events are on disk
  // The highest number of those, by launch.
  std::map<std::pair<TrialId, LaunchId>, std::uint64_t> highest_;
  std::set<std::pair<TrialId, LaunchId>> cut_short_;  // their programs were asked to end
  std::set<std::pair<TrialId, LaunchId>> lost_;  // lost launches: their messages no longer count
  EventSeq last_{};                              // on disk
  std::vector<Batch> in_doubt_;                  // batches after it that may be on disk
  // Trials that ran on a node when it was lost. They may still run there.
  std::set<TrialId> astray_;
  std::uint64_t reports_ = 0;
  std::set<std::pair<TrialId, Work>> reported_;  // on disk
};

}  // namespace sluice
