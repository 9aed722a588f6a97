#include "exec/controller/local_controller.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "exec/carried_out.h"
#include "exec/descriptor_limit.h"
#include "exec/machine/machine.h"
#include "ledger/event_codec.h"
#include "ledger/reader.h"
#include "ledger/recovery.h"

namespace sluice {
namespace {

constexpr Duration kQuickProposal = std::chrono::microseconds(200);
// A command that holds the pen for longer has stopped, and loses it.
constexpr Duration kPenPatience = std::chrono::seconds(20);

int OpenSignals() {
  sigset_t heard;
  sigemptyset(&heard);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&heard, signal);
  sigprocmask(SIG_BLOCK, &heard, nullptr);
  return signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
}

wire::Answer AnswerOf(const Status& status) {
  return status ? wire::Answer{.ok = true, .message = ""}
                : wire::Answer{.ok = false, .message = status.error().message};
}

// The event with which a study is opened; nothing if it is opened as it is.
Result<std::optional<EventBody>> EventIn(const wire::Ask& ask, StudyId study) {
  if (ask.event.empty()) return std::nullopt;
  SLUICE_ASSIGN(Event event, DecodeEvent({}, study, ask.event, ask.body));
  const bool known = std::holds_alternative<StudyResumed>(event.body) ||
                     std::holds_alternative<StudyStopAsked>(event.body);
  if (!known) return InvalidArgument(fmt::format("a study is not opened with '{}'", ask.event));
  return std::move(event.body);
}

// The devices of this machine that the world of a study hides.
std::vector<std::string> HiddenFrom(const StudyWorld& world, const Node& machine) {
  std::vector<std::string> hidden;
  if (machine.devices.empty()) return hidden;
  const Node seen = InspectMachine(world).node;
  for (const Device& device : machine.devices) {
    const auto found = std::ranges::find(seen.devices, device.uuid, &Device::uuid);
    if (found == seen.devices.end()) hidden.push_back(device.uuid);
  }
  return hidden;
}

Node Without(Node node, const std::vector<std::string>& hidden) {
  std::erase_if(node.devices,
                [&](const Device& device) { return std::ranges::count(hidden, device.uuid) > 0; });
  return node;
}

}  // namespace

LocalController::LocalController(Parts parts)
    : paths_(std::move(parts.paths)),
      launcher_(std::move(parts.launcher)),
      version_(std::move(parts.version)),
      node_(std::move(parts.node)),
      find_lodging_(std::move(parts.find_lodging)),
      ready_(std::move(parts.ready)),
      patience_(parts.patience),
      lock_(std::move(parts.lock)),
      loop_(std::move(parts.loop)),
      guard_(parts.ledger->guard()),
      commit_done_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      signals_(OpenSignals()),
      clock_(*loop_),
      reception_(*loop_, {.asked = [this](PeerId peer, const wire::Ask& ask) { Asked(peer, ask); },
                          .left = [this](PeerId peer) { callers_.erase(peer); }}) {
  SLUICE_CHECK(commit_done_ >= 0 && signals_ >= 0, "the system gives us two descriptors");
  const EventSeq last = parts.ledger->last();
  writer_ = std::make_unique<Writer>(std::move(parts.ledger), commit_done_);
  controller_ = std::make_unique<Controller>(
      Controller::Parts{.engine = std::move(parts.engine),
                        .last = last,
                        .events_since_snapshot = parts.events_since_snapshot,
                        .observer = {}},
      clock_, *writer_);
  loop_->Watch(commit_done_, [this] { CommitDone(); });
  loop_->Watch(signals_, [this] { Interrupted(); });
}

LocalController::~LocalController() {
  writer_.reset();
  for (const int descriptor : {commit_done_, signals_}) {
    loop_->Forget(descriptor);
    close(descriptor);
  }
}

Status LocalController::Run() {
  RaiseDescriptorLimit();
  Status status = Begin();
  while (status && !IsOver()) {
    Flush();
    loop_->RunOnce();
    LetGo();
    Serve();
    if (!failure_ && controller_->failure()) failure_ = controller_->failure();
    if (failure_) status = std::unexpected(*failure_);
  }
  Leave(status);
  return status;
}

Status LocalController::Begin() {
  const Engine& engine = controller_->engine();
  if (!engine.studies().empty()) {
    SLUICE_ASSIGN(const auto reader, Reader::Open(paths_.database));
    for (const auto& study : engine.studies()) {
      std::vector<Observation> knowledge;
      SLUICE_ASSIGN(auto lodger, MakeLodger(reader->database(), *study, knowledge));
      controller_->Add(Drive(study->id, *lodger, std::move(knowledge)));
      lodgers_[study->id] = std::move(lodger);
    }
    controller_->Begin({ControllerStarted{{node_}}});
    is_new_ = false;
  }
  SLUICE_TRY(reception_.Listen(paths_.socket));
  for (const auto& [study, lodger] : lodgers_)
    lodger->site().Welcome(controller_->workforce(study));
  SLUICE_TRY(TakeInLeaders());
  loop_->At(loop_->Now() + patience_, [this] { is_new_ = false; });
  if (ready_) ready_();
  return {};
}

Result<std::unique_ptr<Lodger>> LocalController::MakeLodger(Database& database, const Study& study,
                                                            std::vector<Observation>& knowledge) {
  SLUICE_ASSIGN(Lodging lodging, find_lodging_(database, study));
  knowledge = std::move(lodging.knowledge);
  auto lodger = std::make_unique<Lodger>(
      LocalSite::Shared{.loop = *loop_,
                        .reception = reception_,
                        .strays = strays_,
                        .engine = controller_->engine()},
      LocalSite::Options{.paths = paths_,
                         .launcher = launcher_,
                         .trainer = std::move(lodging.trainer),
                         .study = study.id,
                         .name = study.spec.name,
                         .world = std::move(lodging.world),
                         .fit = std::move(lodging.fit),
                         .guard = guard_},
      std::move(lodging.sampler),
      [this, id = study.id](SearchAnswer answer) { controller_->Answered(id, std::move(answer)); });
  SLUICE_TRY(lodger->Open());
  return lodger;
}

Controller::Driven LocalController::Drive(StudyId study, Lodger& lodger,
                                          std::vector<Observation> knowledge) {
  return {.study = study,
          .site = lodger.site(),
          .searcher = lodger.searcher(),
          .knowledge = std::move(knowledge)};
}

// Takes in a study that is alone.
Status LocalController::TakeIn(const std::string& name, const wire::Ask& ask) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(paths_.database));
  SLUICE_ASSIGN(const StudyInfo info, reader->FindStudy(name));
  SLUICE_ASSIGN(const std::optional<EventBody> event, EventIn(ask, info.id));
  SLUICE_ASSIGN(auto alone, RecoverEngine(reader->database(), info.id));
  if (alone->study(info.id) == nullptr)
    return Corruption(
        fmt::format("{}: study '{}' is not where its events say that it is: 'sluice "
                    "doctor' says more",
                    paths_.database, name));
  std::vector<Observation> knowledge;
  SLUICE_ASSIGN(auto lodger, MakeLodger(reader->database(), *alone->study(info.id), knowledge));
  std::vector<std::string> hidden = HiddenFrom(lodger->site().world(), node_);
  const bool stops = event && std::holds_alternative<StudyStopAsked>(*event);
  const bool is_over = !event && info.finished;
  if (!stops && !is_over) {
    // The cores are those of the command that started this process.
    SLUICE_TRY(CheckFits(alone->study(info.id)->spec, Without(node_, hidden),
                         fmt::format("the controller of the store (process {})", getpid())));
    SLUICE_TRY(TakeInLeaderOf(*alone->study(info.id)));
  }
  std::vector<EventBody> first;
  if (event) first.push_back(*event);
  controller_->Open(Drive(info.id, *lodger, std::move(knowledge)), std::move(alone), {node_},
                    std::move(hidden), std::move(first));
  lodger->site().Welcome(controller_->workforce(info.id));
  lodgers_[info.id] = std::move(lodger);
  return {};
}

// A leader that has not finished is here already, or is paused.
Status LocalController::TakeInLeaderOf(const Study& follower) {
  const std::string& name = follower.spec.transfer;
  if (name.empty() || controller_->engine().FindStudy(name) != nullptr) return {};
  SLUICE_ASSIGN(const auto reader, Reader::Open(paths_.database));
  const auto leader = reader->FindStudy(name);
  if (!leader || !leader->finished) return {};
  return TakeIn(name, {});
}

// Takes in the leaders that are missing: they ended while no controller lived, or while they were
// not here.
Status LocalController::TakeInLeaders() {
  std::vector<StudyId> followers;
  for (const auto& study : controller_->engine().studies()) {
    if (!study->finished) followers.push_back(study->id);
  }
  for (const StudyId id : followers) SLUICE_TRY(TakeInLeaderOf(*controller_->engine().study(id)));
  return {};
}

void LocalController::Flush() {
  // Waits a moment for a proposal, so that it is committed together with the end of the trial that
  // made room for it.
  if (controller_->WaitsForProposal()) {
    std::vector<pollfd> ready;
    for (const auto& [study, lodger] : lodgers_)
      ready.push_back({.fd = lodger->ready(), .events = POLLIN, .revents = 0});
    const timespec moment{.tv_sec = 0, .tv_nsec = kQuickProposal.count() * 1000};
    if (ppoll(ready.data(), ready.size(), &moment, nullptr) > 0) {
      for (const auto& [study, lodger] : lodgers_) lodger->TakeProposals();
    }
  }
  controller_->Flush();
}

void LocalController::CommitDone() {
  ClearSignal(commit_done_);
  if (const std::optional<Status> done = writer_->TakeDone()) controller_->Committed(*done);
}

// Brings all that is known to disk.
Status LocalController::Settle() {
  while (!controller_->failure() && !controller_->IsWritten()) {
    if (writer_->busy()) {
      controller_->Committed(writer_->Wait());
    } else {
      controller_->Flush();
    }
  }
  if (controller_->failure()) return std::unexpected(*controller_->failure());
  return {};
}

void LocalController::Interrupted() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == sizeof info) {
    is_new_ = false;
    if (++interrupts_ == 1) {
      if (!lodgers_.empty()) controller_->Happened(DrainAsked{});
    } else if (interrupts_ == 2) {
      for (const auto& [study, lodger] : lodgers_) controller_->workforce(study).KillAll();
    }
  }
}

void LocalController::Asked(PeerId peer, const wire::Ask& ask) {
  is_new_ = false;
  callers_.try_emplace(peer);
  if (ask.verb == "lend" || ask.verb == "open" || ask.verb == "await") {
    requests_.push_back({peer, ask});
    return;
  }
  const Study* const study = controller_->engine().FindStudy(ask.study);
  if (study != nullptr && IsKept(*study) && controller_->IsIdle(study->id)) {
    if (ask.verb == "pause" || ask.verb == "kill") {
      return reception_.Send(
          peer, wire::Answer{.ok = false,
                             .message = fmt::format("study '{}' does not run", ask.study),
                             .facts = {{std::string(kNotDriven), 1}}});
    }
    controller_->workforce(study->id).StartAgain();
  }
  controller_->Asked(ask,
                     [this, peer](const wire::Answer& answer) { reception_.Send(peer, answer); });
}

// Handles what changes which studies there are, outside of the loop's handlers.
void LocalController::Serve() {
  std::deque<Request> waiting;
  while (!requests_.empty() && !failure_) {
    Request request = std::move(requests_.front());
    requests_.pop_front();
    if (!callers_.contains(request.peer)) continue;
    if (interrupts_ > 0 && request.ask.verb != "await") {
      // It is for the next controller, which is asked once this connection is closed.
      callers_.erase(request.peer);
      reception_.Close(request.peer);
    } else if (request.ask.verb == "lend") {
      Lend(request);
    } else if (request.ask.verb == "await") {
      Await(request);
    } else if (!Open(request)) {
      waiting.push_back(std::move(request));
    }
  }
  requests_.insert(requests_.begin(), std::make_move_iterator(waiting.begin()),
                   std::make_move_iterator(waiting.end()));
}

void LocalController::Lend(const Request& request) {
  if (request.ask.version != version_) {
    return reception_.Send(
        request.peer,
        wire::Answer{
            .ok = false,
            .message = fmt::format(
                "sluice {} runs the studies of this store (process {}), and this is sluice "
                "{}: let its studies end or pause them, then try again",
                version_, getpid(), request.ask.version)});
  }
  if (const Status settled = Settle(); !settled) return;  // the loop sees the failure
  reception_.Send(request.peer, wire::Answer{.ok = true, .message = ""});
  if (!reception_.WaitFor(request.peer, kPenPatience)) {
    callers_.erase(request.peer);
    reception_.Close(request.peer);
  }
  if (const Status taken = writer_->ledger().TakeUp(); !taken) {
    failure_ = taken.error();
    return;
  }
  controller_->GoOnAfter(writer_->ledger().last());
  // The command may have ended a study that others wait for.
  if (const Status led = TakeInLeaders(); !led) failure_ = led.error();
}

bool LocalController::Open(const Request& request) {
  const Study* study = controller_->engine().FindStudy(request.ask.study);
  if (study != nullptr && (study->finished || study->paused)) {
    if (!IsKept(*study) || !controller_->IsIdle(study->id)) return false;
    LetGo(study->id);  // it comes anew, with its world
    study = nullptr;
  }
  if (!Settle()) return true;  // the loop sees the failure, and whoever asked asks the next one
  Status done =
      study != nullptr ? Change(*study, request.ask) : TakeIn(request.ask.study, request.ask);
  if (const Status led = TakeInLeaders(); done && !led) done = led;
  if (!Settle()) return true;
  reception_.Send(request.peer, AnswerOf(done));
  return true;
}

// Changes a study that runs.
Status LocalController::Change(const Study& study, const wire::Ask& ask) {
  SLUICE_ASSIGN(const std::optional<EventBody> event, EventIn(ask, study.id));
  if (!event) return {};
  if (const auto* resumed = std::get_if<StudyResumed>(&*event)) {
    if (resumed->trials && *resumed->trials < study.proposed()) {
      return InvalidArgument(
          fmt::format("--trials is the new total: expected at least {}, since so many were made, "
                      "found {}",
                      study.proposed(), *resumed->trials));
    }
  }
  SLUICE_ASSIGN(const auto reader, Reader::Open(paths_.database));
  SLUICE_ASSIGN(Lodging lodging, find_lodging_(reader->database(), study));
  lodgers_.at(study.id)->site().SetWorld(std::move(lodging.world), std::move(lodging.trainer),
                                         std::move(lodging.fit));
  controller_->Happened(*event);
  return {};
}

void LocalController::Await(const Request& request) {
  const Study* const study = controller_->engine().FindStudy(request.ask.study);
  if (study != nullptr && IsAtWork(study->id)) {
    callers_.at(request.peer).awaits = study->id;
  } else if (Settle()) {
    reception_.Send(request.peer, wire::Answer{.ok = true, .message = ""});
  }
}

// Whether a study that has finished stays for a study that trains its best trial.
bool LocalController::IsKept(const Study& study) const {
  return study.finished &&
         std::ranges::any_of(controller_->engine().studies(), [&study](const auto& other) {
           return !other->finished && other->spec.transfer == study.spec.name;
         });
}

std::optional<StudyId> LocalController::FindDone() const {
  for (const auto& [id, lodger] : lodgers_) {
    if (controller_->IsIdle(id) && !IsKept(*controller_->engine().study(id))) return id;
  }
  return std::nullopt;
}

void LocalController::LetGo(StudyId study) {
  controller_->Close(study);
  lodgers_.erase(study);
}

// Lets go of the studies that have nothing more to do.
void LocalController::LetGo() {
  if (failure_ || controller_->failure()) return;
  for (const auto& [id, lodger] : lodgers_) {
    const Study& study = *controller_->engine().study(id);
    if (study.finished || controller_->engine().IsHeld(study))
      controller_->workforce(id).DismissIdle();
  }
  // A leader is done when its last follower has been let go.
  bool any = false;
  while (const auto done = FindDone()) {
    LetGo(*done);
    any = true;
  }
  const bool answers = std::ranges::any_of(callers_, [this](const auto& each) {
    return IsSet(each.second.awaits) && !IsAtWork(each.second.awaits);
  });
  if (!(any || answers) || !Settle()) return;
  if (!IsOver()) AnswerWaiting({});
}

// Whether the study is here, and not only for a follower.
bool LocalController::IsAtWork(StudyId id) const {
  if (!lodgers_.contains(id)) return false;
  return !controller_->IsIdle(id) || !IsKept(*controller_->engine().study(id));
}

// Answers those who wait for a study that is no longer at work here.
void LocalController::AnswerWaiting(const Status& status) {
  for (auto& [peer, caller] : callers_) {
    if (!IsSet(caller.awaits) || (status && IsAtWork(caller.awaits))) continue;
    caller.awaits = {};
    reception_.Send(peer, AnswerOf(status));
  }
}

bool LocalController::IsOver() const {
  const bool asked =
      std::ranges::any_of(callers_, [](const auto& each) { return !IsSet(each.second.awaits); });
  return lodgers_.empty() && (interrupts_ > 0 || (!is_new_ && !asked && requests_.empty()));
}

// Releases the store, and only then answers those who wait.
void LocalController::Leave(const Status& status) {
  reception_.StopListening();
  if (status && !writer_->busy()) {
    if (Batch last = controller_->LastWords(); !last.empty()) {
      writer_->Submit(std::move(last));
      (void)writer_->Wait();
    }
    (void)writer_->ledger().Gather();  // those who look on keep SQLite from doing so
  }
  writer_.reset();
  lock_.reset();
  AnswerWaiting(status);
}

}  // namespace sluice
