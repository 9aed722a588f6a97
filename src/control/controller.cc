#include "control/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "base/check.h"
#include "base/planted.h"
#include "base/text.h"
#include "engine/observation.h"
#include "engine/points.h"
#include "search/samplers/explore.h"

namespace sluice {
namespace {

constexpr std::int64_t kSnapshotAtEnd = 1'000;

}  // namespace

// A study with its processes. It tells the controller what its workforce says.
class Controller::Run final : public WorkforceOwner {
 public:
  Run(Controller& controller, Driven driven)
      : searcher(driven.searcher),
        knowledge(std::move(driven.knowledge)),
        workforce(driven.site, *this, driven.study),
        controller_(controller),
        study_(driven.study) {}

  const Engine& engine() const override { return *controller_.engine_; }
  void Happened(EventBody body, std::optional<Receipt> receipt) override {
    controller_.Happened(std::move(body), study_, std::move(receipt));
  }
  void AcknowledgeInTurn(Receipt receipt) override {
    controller_.gathered_effects_.receipts.emplace_back(study_, std::move(receipt));
  }
  void CarryOutInTurn(Command command) override {
    controller_.gathered_effects_.commands.push_back(std::move(command));
  }
  void DoInTurn(std::function<void()> act) override {
    controller_.gathered_effects_.acts.emplace_back(study_, std::move(act));
  }
  void Asked(const wire::Ask& ask, std::function<void(const wire::Answer&)> answer) override {
    controller_.Asked(ask, std::move(answer));
  }

  const Study& study() const { return *controller_.engine_->study(study_); }

  Searcher& searcher;
  std::vector<Observation> knowledge;
  Workforce workforce;

 private:
  Controller& controller_;
  StudyId study_;
};

Controller::Controller(Parts parts, Clock& clock, Committer& committer)
    : clock_(clock),
      committer_(committer),
      engine_(std::move(parts.engine)),
      last_(parts.last),
      events_since_snapshot_(parts.events_since_snapshot),
      snapshot_every_(parts.snapshot_every),
      observer_(std::move(parts.observer)) {
  // The last event is an earlier controller's, and the machine's clock may have been set back
  // since. Time goes on from that event: otherwise timers would wait until the clock has caught up.
  if (!Planted("clock-back")) ahead_ = std::max(engine_->now() - clock_.Now(), Duration(0));
}

Controller::~Controller() = default;

void Controller::Add(Driven driven) {
  const StudyId study = driven.study;
  runs_[study] = std::make_unique<Run>(*this, std::move(driven));
}

Controller::Run* Controller::FindRun(StudyId study) {
  const auto found = runs_.find(study);
  return found == runs_.end() ? nullptr : found->second.get();
}

Workforce& Controller::workforce(StudyId study) { return runs_.at(study)->workforce; }

void Controller::Begin(std::vector<EventBody> first) {
  for (const auto& study : engine_->studies())
    SLUICE_CHECK(Drives(study->id), "a controller drives every study of its engine");
  std::vector<std::pair<Run*, std::vector<wire::LaunchRef>>> inherited;
  for (auto& [study, run] : runs_) inherited.emplace_back(run.get(), Inherit(*run));
  for (EventBody& body : first) Happened(std::move(body));
  for (const auto& [run, launches] : inherited) run->workforce.Open(launches);
}

void Controller::Open(Driven driven, std::unique_ptr<Engine> alone, const std::vector<Node>& nodes,
                      std::vector<std::string> hidden, std::vector<EventBody> first) {
  const StudyId study = driven.study;
  if (engine_->studies().empty()) Happened(NodesChanged{nodes});
  engine_->Open(std::move(alone));
  Add(std::move(driven));
  Run& run = *runs_.at(study);
  const std::vector<wire::LaunchRef> inherited = Inherit(run);
  Happened(StudyOpened{study, std::move(hidden)});
  for (EventBody& body : first) Happened(std::move(body));
  run.workforce.Open(inherited);
}

// Goes on with what the study had not finished, and returns the launches that ran.
std::vector<wire::LaunchRef> Controller::Inherit(Run& run) {
  const Study& study = run.study();
  std::vector<wire::LaunchRef> inherited;
  for (TrialId id : study.running) inherited.push_back({id, study.trial(id).launch.id});
  std::vector<Command> unfinished = engine_->Unfinished(study.id);
  std::erase_if(unfinished,
                [](const Command& command) { return std::holds_alternative<Start>(command); });
  ObserveAll(run);
  Execute(std::move(unfinished));  // first: proposals are answered in the order they were asked for
  return inherited;
}

bool Controller::Effects::AreFor(StudyId study) const {
  const auto is_for = [study](const auto& waiting) { return waiting.first == study; };
  return std::ranges::any_of(receipts, is_for) || std::ranges::any_of(acts, is_for) ||
         std::ranges::any_of(commands,
                             [study](const Command& each) { return StudyOf(each) == study; });
}

bool Controller::IsIdle(StudyId id) const {
  const Study& study = *engine_->study(id);
  const bool idle = study.finished || (engine_->IsHeld(study) && study.running.empty());
  return idle && runs_.at(id)->workforce.empty() && !gathered_effects_.AreFor(id) &&
         !committing_effects_.AreFor(id);
}

std::unique_ptr<Engine> Controller::Close(StudyId id) {
  Happened(StudyClosed{id});
  TellSearch();
  std::erase_if(unwritten_, [&](const TrialKey& key) {
    if (key.study == id && !Planted("short-goodbye")) WriteRow(key, farewell_);
    return key.study == id;
  });
  touched_.erase(id);
  farewell_.studies.push_back(RowOf(*engine_->study(id)));
  std::unique_ptr<Engine> alone = engine_->Close(id);
  farewell_.snapshots.push_back(SnapshotOf(*alone, id, last_));
  // A replay from an earlier time could not begin the study again: its earlier snapshot is gone.
  if (!engine_->studies().empty()) farewell_.snapshots.push_back(SnapshotOf(*engine_, {}, last_));
  runs_.erase(id);
  return alone;
}

void Controller::GoOnAfter(EventSeq last) {
  SLUICE_CHECK(IsWritten(), "a ledger has one writer at a time");
  if (!Planted("own-pen")) last_ = last;
}

bool Controller::Over() const {
  return std::ranges::all_of(runs_, [this](const auto& run) { return IsIdle(run.first); }) &&
         gathered_.empty() && gathered_effects_.empty() && !committer_.busy();
}

bool Controller::WaitsForProposal() const {
  return !committer_.busy() && !gathered_.empty() &&
         std::ranges::any_of(engine_->studies(),
                             [](const auto& study) { return study->asked != study->answered; });
}

void Controller::Happened(EventBody body) { Happened(std::move(body), {}, std::nullopt); }

void Controller::Happened(EventBody body, StudyId from, std::optional<Receipt> receipt) {
  Event event{Now(), std::move(body)};
  std::vector<Command> commands = engine_->Apply(event);
  last_ = EventSeq(Number(last_) + 1);
  if (observer_) observer_(event);
  if (const StudyId study = StudyOf(event.body); IsSet(study)) {
    touched_.insert(study);
  } else {
    for (const auto& study : engine_->studies()) touched_.insert(study->id);
  }
  gathered_.emplace_back(last_, std::move(event));
  if (receipt && Planted("early-ack")) {
    workforce(from).Acknowledge(*receipt, 1);
  } else if (receipt) {
    gathered_effects_.receipts.emplace_back(from, std::move(*receipt));
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
      Run* const run = FindRun(propose->study);
      if (run == nullptr) continue;  // it is asked again when the study is taken over
      if (IsSet(propose->fork)) {
        AskFork(*propose, run->searcher);
      } else {
        run->searcher.Ask(propose->counter);
      }
    } else if (const auto* wake = std::get_if<WakeAt>(&command)) {
      clock_.At(wake->time - ahead_, [this] {
        if (AnyUnfinished()) Happened(Woken{});
      });
    } else if (Planted("early-act")) {
      Release({.commands = {command}, .receipts = {}, .acts = {}});
    } else {
      gathered_effects_.commands.push_back(std::move(command));
    }
  }
}

bool Controller::AnyUnfinished() const {
  return std::ranges::any_of(engine_->studies(),
                             [](const auto& study) { return !study->finished; });
}

void Controller::AskFork(const Propose& propose, Searcher& searcher) {
  const Study& study = *engine_->study(propose.study);
  searcher.AskFork(propose.fork,
                   [space = study.spec.space, seed = study.seed, number = Number(propose.fork),
                    parent = study.trial(propose.parent).point, names = study.spec.stopper.mutate] {
                     return Explore(space, seed, number, parent, MayChange(space, names));
                   });
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
  Batch batch = std::exchange(farewell_, {});
  events_since_snapshot_ += static_cast<std::int64_t>(gathered_.size());
  batch.events = std::exchange(gathered_, {});
  TellSearch();
  for (const TrialKey& key : std::exchange(unwritten_, {})) WriteRow(key, batch);
  for (const StudyId study : std::exchange(touched_, {})) {
    if (const Study* touched = engine_->study(study))
      batch.studies.push_back(RowOf(*touched, /*open=*/true));
  }
  if (events_since_snapshot_ >= snapshot_every_) {
    batch.snapshots.push_back(SnapshotOf(*engine_, {}, last_));
    events_since_snapshot_ = 0;
  }
  return batch;
}

void Controller::WriteRow(TrialKey key, Batch& batch) {
  const Trial& trial = *engine_->trial(key);
  if (trial.awaits_parameters) return;  // written with its parameters
  // Parameters never change, and are only written with a trial's first row (Ledger::WriteTrial).
  // A trial that has reported has a row.
  const bool fresh = !IsSet(trial.launch.id) || trial.reports == 0;
  const Space& space = engine_->study(key.study)->spec.space;
  batch.trials.push_back({key.study, trial, fresh ? space.Encode(trial.point) : std::string()});
}

Batch Controller::LastWords() {
  Batch batch = TakeBatch();
  if (events_since_snapshot_ >= kSnapshotAtEnd && !engine_->studies().empty())
    batch.snapshots.push_back(SnapshotOf(*engine_, {}, last_));
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
  std::map<std::tuple<StudyId, std::string, wire::LaunchRef>, Heard> acknowledged;
  for (const auto& [study, receipt] : effects.receipts) {
    Heard& heard = acknowledged[{study, receipt.worker, receipt.at}];
    heard.seq = std::max(heard.seq, receipt.seq);
    ++heard.count;
  }
  for (const auto& [whom, heard] : acknowledged) {
    const auto& [study, worker, at] = whom;
    workforce(study).Acknowledge({worker, at, heard.seq}, heard.count);
  }
  for (const Command& command : effects.commands) {
    Run* const run = FindRun(StudyOf(command));
    if (run == nullptr) continue;
    std::visit(
        [run](const auto& each) {
          if constexpr (requires { run->workforce.CarryOut(each); }) run->workforce.CarryOut(each);
        },
        command);
  }
  for (const auto& [study, act] : effects.acts) act();
}

bool IsNotDriven(const wire::Answer& answer) {
  return std::ranges::any_of(answer.facts,
                             [](const auto& fact) { return fact.first == kNotDriven; });
}

void Controller::Asked(const wire::Ask& ask, std::function<void(const wire::Answer&)> answer) {
  const auto refuse = [&](std::string why) {
    answer(wire::Answer{.ok = false, .message = std::move(why)});
  };
  const Study* const found = engine_->FindStudy(ask.study);
  if (found == nullptr || !Drives(found->id)) {
    return answer(wire::Answer{.ok = false,
                               .message = fmt::format("study '{}' does not run", ask.study),
                               .facts = {{std::string(kNotDriven), 1}}});
  }
  const Study& study = *found;
  const StudyId id = study.id;
  wire::Values facts;
  if (ask.verb == "stop" && IsSet(ask.trial)) {
    const Trial* trial = engine_->trial({id, ask.trial});
    if (trial == nullptr)
      return refuse(fmt::format("study '{}' has no trial {}", ask.study, Number(ask.trial)));
    if (!CanBeStopped(*trial)) {
      return refuse(fmt::format("trial {} is {}: there is nothing to stop", Number(ask.trial),
                                trial->leaving ? "ending already" : Name(trial->state)));
    }
    Happened(TrialStopAsked{{id, ask.trial}});
  } else if (ask.verb == "stop") {
    Happened(StudyStopAsked{id});
  } else if (ask.verb == "pause" || ask.verb == "kill") {
    if (!study.paused) Happened(StudyPauseAsked{id});
    if (ask.verb == "kill") workforce(id).KillAll();
  } else if (ask.verb == "retry") {
    const Trial* trial = engine_->trial({id, ask.trial});
    if (trial == nullptr)
      return refuse(fmt::format("study '{}' has no trial {}", ask.study, Number(ask.trial)));
    if (trial->state != TrialState::kFailed && trial->state != TrialState::kStopped) {
      return refuse(fmt::format("trial {} is {}: only failed and stopped trials can be retried",
                                Number(ask.trial), Name(trial->state)));
    }
    Happened(RetryAsked{{id, ask.trial}});
  } else if (ask.verb == "enqueue") {
    auto points = MakePoints(study, ask.points);
    if (!points) return refuse(points.error().message);
    const int known = CountKnown(study, *points);
    const auto added = static_cast<double>(points->points.size());
    Happened(std::move(*points));
    const QueueStanding standing = QueueOf(study);
    facts = {{"added", added},
             {"known", known},
             {"waiting", standing.waiting},
             {"room", standing.room},
             {"total", standing.total}};
    Happened(Woken{});  // makes a plan: one of the points may start now
  } else {
    return refuse(fmt::format("cannot '{}'", ask.verb));
  }
  gathered_effects_.acts.emplace_back(
      id, [answer, facts] { answer(wire::Answer{.ok = true, .message = "", .facts = facts}); });
}

void Controller::Answered(StudyId study, SearchAnswer answer) {
  if (!Drives(study)) return;
  Happened(Proposed{.study = study,
                    .counter = answer.counter,
                    .point = std::move(answer.point),
                    .fork = answer.fork});
}

// Tells the searchers all that happened before they are asked for a proposal. So a proposal depends
// on the events, not on when they reach the disk.
void Controller::TellSearch() {
  for (const TrialKey& key : engine_->TakeChanged()) {
    if (Run* run = FindRun(key.study)) Observe(*run, *engine_->trial(key));
    unwritten_.insert(key);
    touched_.insert(key.study);
  }
}

void Controller::ObserveAll(Run& run) {
  for (Observation& observation : std::exchange(run.knowledge, {}))
    run.searcher.Observe(std::move(observation));
  for (const Trial& trial : run.study().trials) Observe(run, trial);
}

void Controller::Observe(Run& run, const Trial& trial) {
  if (trial.IsFork()) return;  // its result is partly due to its ancestors
  run.searcher.Observe(ObservationOf(run.study().spec, trial));
}

}  // namespace sluice
