#include "exec/controller.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "engine/points.h"
#include "search/explore.h"

namespace sluice {
namespace {

constexpr std::int64_t kSnapshotEvery = 50'000;  // events: a restart replays no more than these
constexpr std::int64_t kSnapshotAtEnd = 1'000;
constexpr Duration kQuickProposal = std::chrono::microseconds(200);
constexpr Duration kTickEvery = std::chrono::milliseconds(100);
constexpr Duration kTickAtLeast = std::chrono::seconds(1);

// What ends a controller, apart from what our parent wants ignored (nohup): a signal that is blocked
// would come all the same.
sigset_t EndingSignals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now{};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaddset(&wanted, signal);
  }
  return wanted;
}

int OpenSignals() {
  const sigset_t wanted = EndingSignals();
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

void DrainCounter(int descriptor) {
  std::uint64_t count = 0;
  while (read(descriptor, &count, sizeof count) > 0) {
  }
}

}  // namespace

Controller::Controller(Parts parts, Watcher& watcher)
    : paths_(parts.paths),
      study_(parts.study),
      watcher_(watcher),
      loop_(std::move(parts.loop)),
      engine_(std::move(parts.engine)),
      last_(parts.ledger->last()),
      commit_done_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      search_ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      signals_(OpenSignals()),
      writer_(std::make_unique<Writer>(std::move(parts.ledger), commit_done_)),
      search_(std::make_unique<SearchThread>(std::move(parts.sampler), search_ready_)),
      executor_(*loop_, *this,
                {.paths = parts.paths, .launcher = parts.launcher, .study = parts.study}) {
  knowledge_ = std::move(parts.knowledge);
  events_since_snapshot_ = parts.events_since_snapshot;
  SLUICE_CHECK(commit_done_ >= 0 && search_ready_ >= 0 && signals_ >= 0,
               "the system gives us three descriptors");
  loop_->Watch(commit_done_, [this] { CommitDone(); });
  loop_->Watch(search_ready_, [this] { Proposals(); });
  loop_->Watch(signals_, [this] { Interrupted(); });
}

Controller::~Controller() {
  search_.reset();
  writer_.reset();
  for (int descriptor : {commit_done_, search_ready_, signals_}) {
    loop_->Forget(descriptor);
    close(descriptor);
  }
  const sigset_t ours = EndingSignals();
  sigprocmask(SIG_UNBLOCK, &ours, nullptr);
}

Result<RunEnd> Controller::Run(std::vector<EventBody> first) {
  std::vector<wire::LaunchRef> inherited;
  for (TrialId id : study().running) inherited.push_back({id, study().trial(id).launch});
  std::vector<Command> unfinished = engine_->Unfinished();
  std::erase_if(unfinished,
                [](const Command& command) { return std::holds_alternative<Start>(command); });

  ObserveAll();
  Execute(std::move(unfinished));  // first: proposals are answered in the order they were asked for
  for (EventBody& body : first) Happened(std::move(body), std::nullopt);
  SLUICE_TRY(executor_.Open(inherited));
  Tick();
  while (!failure_ && !Over()) {
    Flush();
    loop_->RunOnce();
    if (study().finished || engine_->draining()) executor_.DismissIdle();
  }
  // The last word: what is gathered, and a snapshot if much has happened.
  if (writer_->busy() && !failure_) {
    if (Status done = writer_->Wait(); !done) failure_ = done.error();
  }
  if (!failure_) {
    Batch batch = TakeBatch();
    if (events_since_snapshot_ >= kSnapshotAtEnd && batch.snapshots.empty()) {
      batch.snapshots.push_back(SnapshotOf(*engine_, study_, last_));
    }
    if (!batch.empty()) {
      writer_->Submit(std::move(batch));
      if (Status done = writer_->Wait(); !done) failure_ = done.error();
    }
  }
  watcher_.Tick(study(), loop_->Now());
  if (failure_) return std::unexpected(*failure_);
  if (study().finished) return RunEnd::kFinished;
  return interrupts_ > 1 ? RunEnd::kInterrupted : RunEnd::kDrained;
}

bool Controller::Over() const {
  const bool idle = study().finished || (engine_->draining() && engine_->running() == 0);
  return idle && executor_.empty() && gathered_.empty() && gathered_effects_.empty() &&
         !writer_->busy();
}

void Controller::Happened(EventBody body, std::optional<Receipt> receipt) {
  Event event{loop_->Now(), std::move(body)};
  std::vector<Command> commands = engine_->Apply(event);
  last_ = EventSeq(Number(last_) + 1);
  gathered_.emplace_back(last_, std::move(event));
  if (receipt) gathered_effects_.receipts.push_back(std::move(*receipt));
  Execute(std::move(commands));
  changed_ = true;
}

// Commands that touch nothing outside are carried out at once, the others after the commit.
void Controller::Execute(std::vector<Command> commands) {
  for (Command& command : commands) {
    if (const auto* propose = std::get_if<Propose>(&command)) {
      TellSearch();
      if (IsSet(propose->fork)) {
        AskFork(*propose);
      } else {
        search_->Ask(propose->counter);
      }
    } else if (const auto* wake = std::get_if<WakeAt>(&command)) {
      Wake(wake->time);
    } else {
      gathered_effects_.commands.push_back(std::move(command));
    }
  }
}

void Controller::AskFork(const Propose& propose) {
  search_->AskFork(propose.fork,
                   [space = study().spec.space, seed = study().seed, number = Number(propose.fork),
                    parent = study().trial(propose.parent).point] {
                     return Explore(space, seed, number, parent);
                   });
}

void Controller::AcknowledgeInTurn(Receipt receipt) {
  gathered_effects_.receipts.push_back(std::move(receipt));
}

void Controller::Flush() {
  if (writer_->busy()) return;
  // A proposal that is about to come goes into the same commit as the end that made room for it.
  if (!gathered_.empty() && study().asked != study().answered) {
    pollfd ready{.fd = search_ready_, .events = POLLIN, .revents = 0};
    const timespec moment{.tv_sec = 0, .tv_nsec = kQuickProposal.count() * 1000};
    if (ppoll(&ready, 1, &moment, nullptr) > 0) Proposals();
  }
  if (gathered_.empty()) {
    if (!gathered_effects_.empty()) Release(std::exchange(gathered_effects_, {}));
    if (gathered_.empty()) return;
  }
  committing_effects_ = std::exchange(gathered_effects_, {});
  writer_->Submit(TakeBatch());
}

Batch Controller::TakeBatch() {
  Batch batch;
  batch.study = study_;
  events_since_snapshot_ += static_cast<std::int64_t>(gathered_.size());
  batch.events = std::exchange(gathered_, {});
  TellSearch();
  for (const TrialKey& key : std::exchange(unwritten_, {})) {
    const Trial& trial = *engine_->trial(key);
    if (trial.unborn) continue;  // written with its parameters
    // Parameters never change: they are written with the trial's first row.
    const bool fresh = !IsSet(trial.launch) || trial.reports == 0;
    batch.trials.push_back(
        {key.study, trial, fresh ? study().spec.space.Encode(trial.point) : std::string()});
  }
  if (!batch.events.empty()) batch.studies.push_back(RowOf(study()));
  if (events_since_snapshot_ >= kSnapshotEvery) {
    batch.snapshots.push_back(SnapshotOf(*engine_, study_, last_));
    events_since_snapshot_ = 0;
  }
  return batch;
}

void Controller::CommitDone() {
  DrainCounter(commit_done_);
  const std::optional<Status> done = writer_->TakeDone();
  if (!done) return;
  if (!*done) {
    failure_ = done->error();
    return;
  }
  Release(std::exchange(committing_effects_, {}));
}

void Controller::Release(Effects effects) {
  // A worker hears that its last trial is safe before it is given the next. Acknowledgements are
  // cumulative: the last of a launch says it all.
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
    executor_.Acknowledge({whom.first, whom.second, heard.seq}, heard.count);
  for (const Command& command : effects.commands) {
    std::visit(
        [this](const auto& each) {
          if constexpr (requires { executor_.CarryOut(each); }) executor_.CarryOut(each);
        },
        command);
  }
  for (const auto& answer : effects.answers) answer();
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
  if (ask.verb == "stop") {
    Happened(StudyStopAsked{study_}, std::nullopt);
  } else if (ask.verb == "retry") {
    const Trial* trial = engine_->trial({study_, ask.trial});
    if (trial == nullptr)
      return refuse(fmt::format("study '{}' has no trial {}", ask.study, Number(ask.trial)));
    if (trial->state != TrialState::kFailed && trial->state != TrialState::kStopped) {
      return refuse(fmt::format("trial {} is {}: only failed and stopped trials can be retried",
                                Number(ask.trial), Name(trial->state)));
    }
    Happened(RetryAsked{{study_, ask.trial}}, std::nullopt);
  } else if (ask.verb == "enqueue") {
    auto points = MakePoints(study(), ask.points);
    if (!points) return refuse(points.error().message);
    const int known = CountKnown(study(), *points);
    const auto added = static_cast<double>(points->points.size());
    Happened(std::move(*points), std::nullopt);
    const QueueStanding standing = QueueOf(study());
    facts = {{"added", added},
             {"known", known},
             {"waiting", standing.waiting},
             {"room", standing.room},
             {"total", standing.total}};
    Happened(Woken{}, std::nullopt);  // plans: there may be room for one of them now
  } else {
    return refuse(fmt::format("cannot '{}'", ask.verb));
  }
  gathered_effects_.answers.push_back(
      [answer, facts] { answer(wire::Answer{.ok = true, .message = "", .facts = facts}); });
}

void Controller::Interrupted() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == sizeof info) {
    ++interrupts_;
    if (interrupts_ == 1) {
      const int running = engine_->running();
      watcher_.Say(running == 0 ? std::string("stopping")
                                : fmt::format("stopping: waiting for {} running trial{} to save or "
                                              "finish; Ctrl-C again ends {} at once",
                                              running, running == 1 ? "" : "s",
                                              running == 1 ? "it" : "them"));
      Happened(DrainAsked{}, std::nullopt);
    } else if (interrupts_ == 2) {
      watcher_.Say("ending what runs at once; 'sluice resume' goes on from the checkpoints");
      executor_.KillAll();
    }
  }
}

void Controller::Proposals() {
  DrainCounter(search_ready_);
  for (SearchThread::Answer& answer : search_->TakeAnswers()) {
    Happened(Proposed{.study = study_,
                      .counter = answer.counter,
                      .point = std::move(answer.point),
                      .fork = answer.fork},
             std::nullopt);
  }
}

void Controller::Wake(Time time) {
  loop_->At(time, [this] {
    if (!study().finished) Happened(Woken{}, std::nullopt);
  });
}

void Controller::Tick() {
  const Time now = loop_->Now();
  if (changed_ || now >= ticked_ + kTickAtLeast) {
    watcher_.Tick(study(), now);
    changed_ = false;
    ticked_ = now;
  }
  loop_->At(now + kTickEvery, [this] { Tick(); });
}

// Whoever is asked for a proposal knows all that happened before: what is proposed depends on the
// events, not on when they reach the disk.
void Controller::TellSearch() {
  for (const TrialKey& key : engine_->TakeChanged()) {
    Observe(*engine_->trial(key));
    unwritten_.insert(key);
  }
}

void Controller::ObserveAll() {
  for (Observation& observation : std::exchange(knowledge_, {}))
    search_->Observe(std::move(observation));
  for (const Trial& trial : study().trials) Observe(trial);
}

void Controller::Observe(const Trial& trial) {
  if (trial.IsFork()) return;  // what came of it is its ancestors' doing too
  Observation observation{.trial = trial.id,
                          .point = trial.point,
                          .outcome = Outcome::kRunning,
                          .work = trial.work,
                          .value = study().spec.objective.Loss(trial.best_value)};
  if (trial.state == TrialState::kComplete) observation.outcome = Outcome::kComplete;
  if (trial.state == TrialState::kStopped) observation.outcome = Outcome::kStopped;
  if (trial.state == TrialState::kFailed) observation.outcome = Outcome::kFailed;
  search_->Observe(std::move(observation));
}

}  // namespace sluice
