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

// Runs the sampler on a thread of its own. Each answer is passed to Controller::Answered, in the
// order of the requests.
class Searcher {
 public:
  virtual ~Searcher() = default;
  virtual void Observe(Observation observation) = 0;
  virtual void Ask(std::uint64_t counter) = 0;
  // Asks for the parameters of a fork. `explore` computes them without the sampler.
  virtual void AskFork(TrialId fork, std::function<Point()> explore) = 0;
};

// What a searcher found.
struct SearchAnswer {
  std::uint64_t counter = 0;
  std::optional<Point> point;
  TrialId fork{};  // if set, `point` is for this fork, not for a proposal
};

// The loop around the engine. What happens becomes an event, and the event changes the engine
// immediately. Once the event is on disk, the commands that it caused are carried out, and the
// message that it came from is acknowledged. Propose and WakeAt do not wait for the disk. A
// controller drives one study. It touches the world only through the site, the committer and the
// searcher, so that a simulator can run it too. Only one thread may use it.
class Controller final : public WorkforceOwner {
 public:
  struct Parts {
    StudyId study{};
    std::unique_ptr<Engine> engine;
    EventSeq last{};                     // the last event that the ledger holds
    std::vector<Observation> knowledge;  // for the sampler, besides the study's own trials
    std::int64_t events_since_snapshot = 0;
    std::int64_t snapshot_every = 50'000;        // in events: a restart replays at most this many
    std::function<void(const Event&)> observer;  // is given each event after it was applied
  };

  // The site, the committer and the searcher must outlive the controller.
  Controller(Parts parts, Site& site, Committer& committer, Searcher& searcher);

  // Takes over: goes on with unfinished commands, applies the first events (among them
  // ControllerStarted), and finds out what became of the launches that ran. After that the site may
  // accept workers.
  void Begin(std::vector<EventBody> first);
  // Submits the gathered events, if the committer is free. If there are none, carries out the
  // waiting commands and acknowledgements at once, since they wait for no commit. To be called once
  // the controller has been told all that has happened so far.
  void Flush();
  // To be called when a commit has ended: tells the controller whether its batch reached the disk.
  // If it did not, `failure` is set, and the controller must not be used any more. Trials go on by
  // themselves, and the next controller finds them.
  void Committed(const Status& status);
  void Answered(SearchAnswer answer);
  // Whether the study is finished or drained, nothing of it runs, and all of that is on disk.
  bool Over() const;
  // The last batch to write down. It has a snapshot if many events came after the latest snapshot.
  Batch LastWords();

  const Study& study() const { return *engine_->study(study_); }
  Workforce& workforce() { return workforce_; }
  const std::optional<Error>& failure() const { return failure_; }
  // Whether a batch could be committed now, but a proposal that could join it is still on its way.
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
    std::vector<std::function<void()>> acts;  // done after the others
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
  Duration ahead_{0};  // added to the site's clock, which may be behind the last event
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
