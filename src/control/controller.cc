#include "control/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/planted.h"
#include "engine/observation.h"
#include "engine/points.h"
#include "search/samplers/explore.h"

namespace sluice {
namespace {

constexpr std::int64_t kSnapshotAtEnd = 1'000;

}  // namespace

Controller::Controller(Parts parts, Site& site, Committer& committer, Searcher& searcher)
    : study_(parts.study),
      site_(site),
      committer_(committer),
      searcher_(searcher),
      engine_(std::move(parts.engine)),
      last_(parts.last),
      workforce_(site, *this, parts.study),
      knowledge_(std::move(parts.knowledge)),
      events_since_snapshot_(parts.events_since_snapshot),
      snapshot_every_(parts.snapshot_every),
      observer_(std::move(parts.observer)) {
  // The last event is an earlier controller's, and the machine's clock may have been set back
  // since. Time goes on from that event: otherwise timers would wait until the clock has caught up.
  if (!Planted("clock-back")) ahead_ = std::max(engine_->now() - site_.Now(), Duration(0));
}

void Controller::Begin(std::vector<EventBody> first) {
  std::vector<wire::LaunchRef> inherited;
  for (TrialId id : study().running) inherited.push_back({id, study().trial(id).launch.id});
  std::vector<Command> unfinished = engine_->Unfinished();
  std::erase_if(unfinished,
                [](const Command& command) { return std::holds_alternative<Start>(command); });
  ObserveAll();
  Execute(std::move(unfinished));  // first: proposals are answered in the order they were asked for
  for (EventBody& body : first) Happened(std::move(body));
  workforce_.Open(inherited);
}

bool Controller::Over() const {
  const bool idle = study().finished || (engine_->IsHeld(study()) && study().running.empty());
  return idle && workforce_.empty() && gathered_.empty() && gathered_effects_.empty() &&
         !committer_.busy();
}

bool Controller::WaitsForProposal() const {
  return !committer_.busy() && !gathered_.empty() && study().asked != study().answered;
}

void Controller::Happened(EventBody body, std::optional<Receipt> receipt) {
  Event event{Now(), std::move(body)};
  std::vector<Command> commands = engine_->Apply(event);
  last_ = EventSeq(Number(last_) + 1);
  if (observer_) observer_(event);
  gathered_.emplace_back(last_, std::move(event));
  if (receipt && Planted("early-ack")) {
    workforce_.Acknowledge(*receipt, 1);
  } else if (receipt) {
    gathered_effects_.receipts.push_back(std::move(*receipt));
  }
  Execute(std::move(commands));
  news_ = true;
}

// Commands without an effect outside the controller are carried out immediately, the others after
// the commit.
void Controller::Execute(std::vector<Command> commands) {
  for (Command& command : commands) {
    if (const auto* propose = std::get_if<Propose>(&command)) {
      TellSearch();
      if (IsSet(propose->fork)) {
        AskFork(*propose);
      } else {
        searcher_.Ask(propose->counter);
      }
    } else if (const auto* wake = std::get_if<WakeAt>(&command)) {
      site_.At(wake->time - ahead_, [this] {
        if (!study().finished) Happened(Woken{});
      });
    } else if (Planted("early-act")) {
      Release({.commands = {command}, .receipts = {}, .acts = {}});
    } else {
      gathered_effects_.commands.push_back(std::move(command));
    }
  }
}

void Controller::AskFork(const Propose& propose) {
  searcher_.AskFork(
      propose.fork,
      [space = study().spec.space, seed = study().seed, number = Number(propose.fork),
       parent = study().trial(propose.parent).point, names = study().spec.stopper.mutate] {
        return Explore(space, seed, number, parent, MayChange(space, names));
      });
}

void Controller::AcknowledgeInTurn(Receipt receipt) {
  gathered_effects_.receipts.push_back(std::move(receipt));
}

void Controller::CarryOutInTurn(Command command) {
  gathered_effects_.commands.push_back(std::move(command));
}

void Controller::DoInTurn(std::function<void()> act) {
  gathered_effects_.acts.push_back(std::move(act));
}

void Controller::Flush() {
  if (committer_.busy() || failure_) return;
  if (gathered_.empty()) {
    if (!gathered_effects_.empty()) Release(std::exchange(gathered_effects_, {}));
    if (gathered_.empty()) return;
  }
  committing_effects_ = std::exchange(gathered_effects_, {});
  committer_.Submit(TakeBatch());
}

Batch Controller::TakeBatch() {
  Batch batch;
  batch.study = study_;
  events_since_snapshot_ += static_cast<std::int64_t>(gathered_.size());
  batch.events = std::exchange(gathered_, {});
  TellSearch();
  for (const TrialKey& key : std::exchange(unwritten_, {})) {
    const Trial& trial = *engine_->trial(key);
    if (trial.awaits_parameters) continue;  // written with its parameters
    // Parameters never change, and are only written with a trial's first row (Ledger::WriteTrial).
    // A trial that has reported has a row.
    const bool fresh = !IsSet(trial.launch.id) || trial.reports == 0;
    batch.trials.push_back(
        {key.study, trial, fresh ? study().spec.space.Encode(trial.point) : std::string()});
  }
  if (!batch.events.empty()) batch.studies.push_back(RowOf(study()));
  if (events_since_snapshot_ >= snapshot_every_) {
    batch.snapshots.push_back(SnapshotOf(*engine_, study_, last_));
    events_since_snapshot_ = 0;
  }
  return batch;
}

Batch Controller::LastWords() {
  Batch batch = TakeBatch();
  if (events_since_snapshot_ >= kSnapshotAtEnd)
    batch.snapshots.push_back(SnapshotOf(*engine_, study_, last_));
  return batch;
}

void Controller::Committed(const Status& status) {
  if (!status) {
    failure_ = status.error();
    return;
  }
  Release(std::exchange(committing_effects_, {}));
}

void Controller::Release(const Effects& effects) {
  // A worker gets the acknowledgements of its last trial before it is given the next trial.
  // Acknowledgements are cumulative, so only the last one of a launch is sent.
  struct Heard {
    std::uint64_t seq = 0;
    int count = 0;
  };
  std::map<std::pair<std::string, wire::LaunchRef>, Heard> acknowledged;
  for (const Receipt& receipt : effects.receipts) {
    Heard& heard = acknowledged[{receipt.worker, receipt.at}];
    heard.seq = std::max(heard.seq, receipt.seq);
    ++heard.count;
  }
  for (const auto& [whom, heard] : acknowledged)
    workforce_.Acknowledge({whom.first, whom.second, heard.seq}, heard.count);
  for (const Command& command : effects.commands) {
    std::visit(
        [this](const auto& each) {
          if constexpr (requires { workforce_.CarryOut(each); }) workforce_.CarryOut(each);
        },
        command);
  }
  for (const auto& act : effects.acts) act();
}

void Controller::Asked(const wire::Ask& ask, std::function<void(const wire::Answer&)> answer) {
  const auto refuse = [&](std::string why) {
    answer(wire::Answer{.ok = false, .message = std::move(why)});
  };
  if (ask.study != study().spec.name) {
    return refuse(
        fmt::format("this controller runs study '{}', not '{}'", study().spec.name, ask.study));
  }
  wire::Values facts;
  if (ask.verb == "stop" && IsSet(ask.trial)) {
    const Trial* trial = engine_->trial({study_, ask.trial});
    if (trial == nullptr)
      return refuse(fmt::format("study '{}' has no trial {}", ask.study, Number(ask.trial)));
    if (!CanBeStopped(*trial)) {
      return refuse(fmt::format("trial {} is {}: there is nothing to stop", Number(ask.trial),
                                trial->leaving ? "ending already" : Name(trial->state)));
    }
    Happened(TrialStopAsked{{study_, ask.trial}});
  } else if (ask.verb == "stop") {
    Happened(StudyStopAsked{study_});
  } else if (ask.verb == "retry") {
    const Trial* trial = engine_->trial({study_, ask.trial});
    if (trial == nullptr)
      return refuse(fmt::format("study '{}' has no trial {}", ask.study, Number(ask.trial)));
    if (trial->state != TrialState::kFailed && trial->state != TrialState::kStopped) {
      return refuse(fmt::format("trial {} is {}: only failed and stopped trials can be retried",
                                Number(ask.trial), Name(trial->state)));
    }
    Happened(RetryAsked{{study_, ask.trial}});
  } else if (ask.verb == "enqueue") {
    auto points = MakePoints(study(), ask.points);
    if (!points) return refuse(points.error().message);
    const int known = CountKnown(study(), *points);
    const auto added = static_cast<double>(points->points.size());
    Happened(std::move(*points));
    const QueueStanding standing = QueueOf(study());
    facts = {{"added", added},
             {"known", known},
             {"waiting", standing.waiting},
             {"room", standing.room},
             {"total", standing.total}};
    Happened(Woken{});  // makes a plan: one of the points may start now
  } else {
    return refuse(fmt::format("cannot '{}'", ask.verb));
  }
  DoInTurn([answer, facts] { answer(wire::Answer{.ok = true, .message = "", .facts = facts}); });
}

void Controller::Answered(SearchAnswer answer) {
  Happened(Proposed{.study = study_,
                    .counter = answer.counter,
                    .point = std::move(answer.point),
                    .fork = answer.fork});
}

// Tells the searcher all that happened before it is asked for a proposal. So a proposal depends on
// the events, not on when they reach the disk.
void Controller::TellSearch() {
  for (const TrialKey& key : engine_->TakeChanged()) {
    Observe(*engine_->trial(key));
    unwritten_.insert(key);
  }
}

void Controller::ObserveAll() {
  for (Observation& observation : std::exchange(knowledge_, {}))
    searcher_.Observe(std::move(observation));
  for (const Trial& trial : study().trials) Observe(trial);
}

void Controller::Observe(const Trial& trial) {
  if (trial.IsFork()) return;  // its result is partly due to its ancestors
  searcher_.Observe(ObservationOf(study().spec, trial));
}

}  // namespace sluice
