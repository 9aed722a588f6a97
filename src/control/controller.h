#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "control/site.h"
#include "control/workforce.h"
#include "engine/engine.h"
#include "ledger/committer.h"
#include "ledger/ledger.h"
#include "search/sampler.h"

namespace sluice {

// Runs the sampler, off the controller's thread. Requests are answered in order, to
// Controller::Answered.
class Searcher {
 public:
  virtual ~Searcher() = default;
  virtual void Observe(Observation observation) = 0;
  virtual void Ask(std::uint64_t counter) = 0;
  // The parameters of a fork, which do not depend on the sampler.
  virtual void AskFork(TrialId fork, std::function<Point()> explore) = 0;
};

// What a searcher found.
struct SearchAnswer {
  std::uint64_t counter = 0;
  std::optional<Point> point;
  TrialId fork{};  // whose parameters they are, if not those of a proposal
};

// The loop around the engine: what happens becomes an event, the event changes the engine at once,
// and what the engine commands is carried out, and what was heard is acknowledged, when the event
// is on disk. Drives one study. Pure but for what it is given, so that a simulator runs it too. One
// thread.
class Controller final : public WorkforceOwner {
 public:
  struct Parts {
    StudyId study{};
    std::unique_ptr<Engine> engine;
    EventSeq last{};                     // that the ledger holds
    std::vector<Observation> knowledge;  // that the sampler has beside the study's own trials
    std::int64_t events_since_snapshot = 0;
    std::int64_t snapshot_every = 50'000;        // events: a restart replays no more than these
    std::function<void(const Event&)> observer;  // sees each event when it has been applied
  };

  // All of them outlive it.
  Controller(Parts parts, Site& site, Committer& committer, Searcher& searcher);

  // Takes over: goes on with what is unfinished, applies the first events, ControllerStarted among
  // them, and finds out what became of what ran. Then the site may let workers in.
  void Begin(std::vector<EventBody> first);
  // Submits what was gathered, if the committer is free. To be called when all that has happened
  // has been told.
  void Flush();
  // A batch reached the disk, or did not: then `failure` is set, and the controller is of no use
  // any more. Trials go on by themselves, and the next controller finds them.
  void Committed(const Status& status);
  void Answered(SearchAnswer answer);
  // The study is finished, or drained, nothing of it runs, and all of that is on disk.
  bool Over() const;
  // What is to be written down at the end, beside a snapshot if much has happened.
  Batch LastWords();

  const Study& study() const { return *engine_->study(study_); }
  Workforce& workforce() { return workforce_; }
  const std::optional<Error>& failure() const { return failure_; }
  // Whether an answer of the sampler would go into the next commit.
  bool WaitsForProposal() const;
  // Whether anything has happened since the last call.
  bool TakeNews() { return std::exchange(news_, false); }

  const Engine& engine() const override { return *engine_; }
  void Happened(EventBody body, std::optional<Receipt> receipt = std::nullopt) override;
  void AcknowledgeInTurn(Receipt receipt) override;
  void CarryOutInTurn(Command command) override;
  void DoInTurn(std::function<void()> act) override;
  void Asked(const wire::Ask& ask, std::function<void(const wire::Answer&)> answer) override;

 private:
  // What waits for a commit.
  struct Effects {
    std::vector<Command> commands;
    std::vector<Receipt> receipts;
    std::vector<std::function<void()>> acts;  // after these
    bool empty() const { return commands.empty() && receipts.empty() && acts.empty(); }
  };

  Time Now() const { return site_.Now() + ahead_; }
  void Execute(std::vector<Command> commands);
  void AskFork(const Propose& propose);
  Batch TakeBatch();
  void Release(const Effects& effects);
  void TellSearch();
  void ObserveAll();
  void Observe(const Trial& trial);

  StudyId study_;
  Site& site_;
  Committer& committer_;
  Searcher& searcher_;
  std::unique_ptr<Engine> engine_;
  EventSeq last_{};
  Duration ahead_{0};  // of the site's clock, where that is behind the last event
  Workforce workforce_;

  std::vector<std::pair<EventSeq, Event>> gathered_;
  std::set<TrialKey> unwritten_;  // trials that changed since the last batch
  Effects gathered_effects_;
  Effects committing_effects_;
  std::vector<Observation> knowledge_;
  std::int64_t events_since_snapshot_;
  std::int64_t snapshot_every_;
  std::function<void(const Event&)> observer_;
  bool news_ = true;
  std::optional<Error> failure_;
};

}  // namespace sluice
