#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
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

// The fact that an answer has if the study that was asked about is not driven here.
inline constexpr std::string_view kNotDriven = "not_driven";
bool IsNotDriven(const wire::Answer& answer);

// The loop around the engine. What happens becomes an event, and the event changes the engine
// immediately. Once the event is on disk, the commands that it caused are carried out, and the
// message that it came from is acknowledged. Propose and WakeAt do not wait for the disk. A
// controller drives several studies, which may come and go. It touches the world only through the
// clock, the committer, and the site and searcher of each study, so that a simulator can run it
// too. Only one thread may use it.
class Controller {
 public:
  struct Parts {
    std::unique_ptr<Engine> engine;  // of the open studies
    EventSeq last{};                 // the last event that the ledger holds
    std::int64_t events_since_snapshot = 0;
    std::int64_t snapshot_every = 50'000;        // in events: a restart replays at most this many
    std::function<void(const Event&)> observer;  // is given each event after it was applied
  };

  // What a study needs. The site and the searcher must outlive the study's time here.
  struct Driven {
    StudyId study{};
    Site& site;
    Searcher& searcher;
    std::vector<Observation> knowledge;  // for the sampler, besides the study's own trials
  };

  // The clock and the committer must outlive the controller.
  Controller(Parts parts, Clock& clock, Committer& committer);
  ~Controller();

  // Every study in the engine is to be added before Begin. After that they come with Open.
  void Add(Driven driven);
  // Takes over: goes on with unfinished commands, applies the first events (among them
  // ControllerStarted), and finds out what became of the launches that ran. After that the sites
  // may accept workers.
  void Begin(std::vector<EventBody> first);
  // Takes in a study that is alone, and then applies the first events (such as StudyResumed).
  // `nodes` are the nodes that there are: an engine without studies knows none. `hidden` are the
  // devices that the study may not use.
  void Open(Driven driven, std::unique_ptr<Engine> alone, const std::vector<Node>& nodes,
            std::vector<std::string> hidden, std::vector<EventBody> first);
  // Whether the study has finished or is held, nothing of it runs, and nothing waits to be done for
  // it.
  bool IsIdle(StudyId study) const;
  // Lets a study go, and returns it. What is known of it is written with the next batch.
  std::unique_ptr<Engine> Close(StudyId study);

  // Someone else has written events about studies that are not here, the last of them `last`. There
  // must be nothing to write here meanwhile (IsWritten).
  void GoOnAfter(EventSeq last);
  bool IsWritten() const { return gathered_.empty() && farewell_.empty() && !committer_.busy(); }

  // Submits the gathered events, if the committer is free. If there are none, carries out the
  // waiting commands and acknowledgements at once, since they wait for no commit. To be called once
  // the controller has been told all that has happened so far.
  void Flush();
  // To be called when a commit has ended: tells the controller whether its batch reached the disk.
  // If it did not, `failure` is set, and the controller must not be used any more. Trials go on by
  // themselves, and the next controller finds them.
  void Committed(const Status& status);
  void Answered(StudyId study, SearchAnswer answer);
  void Happened(EventBody body);
  // Carries out what the command line asks for.
  void Asked(const wire::Ask& ask, std::function<void(const wire::Answer&)> answer);
  // Whether all studies are idle, and all that happened is on disk.
  bool Over() const;
  // The last batch to write down. It has a snapshot if many events came after the latest snapshot.
  Batch LastWords();

  const Engine& engine() const { return *engine_; }
  bool Drives(StudyId study) const { return runs_.contains(study); }
  Workforce& workforce(StudyId study);
  const std::optional<Error>& failure() const { return failure_; }
  // Whether a batch could be committed now, but a proposal that could join it is still on its way.
  bool WaitsForProposal() const;
  // Whether anything has happened since the last call.
  bool TakeNews() { return std::exchange(news_, false); }

 private:
  class Run;  // a study that is driven

  // What waits for a commit, and the study that waits for it.
  template <typename Thing>
  using Waiting = std::vector<std::pair<StudyId, Thing>>;
  struct Effects {
    std::vector<Command> commands;
    Waiting<Receipt> receipts;
    Waiting<std::function<void()>> acts;  // done after the others
    bool empty() const { return commands.empty() && receipts.empty() && acts.empty(); }
    bool AreFor(StudyId study) const;
  };

  Time Now() const { return clock_.Now() + ahead_; }
  std::vector<wire::LaunchRef> Inherit(Run& run);
  void Happened(EventBody body, StudyId from, std::optional<Receipt> receipt);
  void Execute(std::vector<Command> commands);
  void AskFork(const Propose& propose, Searcher& searcher);
  Batch TakeBatch();
  void WriteRow(TrialKey key, Batch& batch);
  void Release(const Effects& effects);
  void TellSearch();
  void ObserveAll(Run& run);
  static void Observe(Run& run, const Trial& trial);
  Run* FindRun(StudyId study);
  bool AnyUnfinished() const;

  Clock& clock_;
  Committer& committer_;
  std::unique_ptr<Engine> engine_;
  EventSeq last_{};
  Duration ahead_{0};  // added to the clock, which may be behind the last event
  std::map<StudyId, std::unique_ptr<Run>> runs_;

  std::vector<std::pair<EventSeq, Event>> gathered_;
  std::set<TrialKey> unwritten_;  // trials that changed since the last batch
  std::set<StudyId> touched_;     // studies that may have changed since the last batch
  Batch farewell_;                // the rows and snapshots of studies that were let go since then
  Effects gathered_effects_;
  Effects committing_effects_;
  std::int64_t events_since_snapshot_;
  std::int64_t snapshot_every_;
  std::function<void(const Event&)> observer_;
  bool news_ = true;
  std::optional<Error> failure_;
};

}  // namespace sluice
