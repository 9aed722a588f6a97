#include "exec/local_controller.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"
#include "exec/descriptor_limit.h"

namespace sluice {
namespace {

constexpr Duration kQuickProposal = std::chrono::microseconds(200);
constexpr Duration kTickEvery = std::chrono::milliseconds(100);
constexpr Duration kTickAtLeast = std::chrono::seconds(1);

// The signals that a controller handles. Signals that the parent process has set to be ignored
// (nohup) are left out: once blocked, an ignored signal would still arrive through the signalfd.
// SIGHUP (the terminal closes) is handled only so that it does not end the process: the study
// continues without its view.
sigset_t HeardSignals() {
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
  const sigset_t wanted = HeardSignals();
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

class LocalController::Lodger {
 public:
  Lodger(LocalController& controller, StudyId study, std::unique_ptr<Sampler> sampler,
         LocalSite::Options options)
      : controller_(controller),
        study_(study),
        ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        search_(std::make_unique<SearchThread>(std::move(sampler), ready_)),
        site_({.loop = *controller.loop_,
               .reception = controller.reception_,
               .strays = controller.strays_,
               .engine = controller.controller_.engine()},
              std::move(options)) {
    SLUICE_CHECK(ready_ >= 0, "the system gives us a descriptor");
    controller_.loop_->Watch(ready_, [this] { Proposals(); });
  }
  ~Lodger() {
    search_.reset();
    controller_.loop_->Forget(ready_);
    close(ready_);
  }

  LocalSite& site() { return site_; }
  Searcher& searcher() { return *search_; }
  int ready() const { return ready_; }
  void Proposals() {
    ClearSignal(ready_);
    for (SearchAnswer& answer : search_->TakeAnswers())
      controller_.controller_.Answered(study_, std::move(answer));
  }

 private:
  LocalController& controller_;
  StudyId study_;
  int ready_ = -1;  // eventfd
  std::unique_ptr<SearchThread> search_;
  LocalSite site_;
};

LocalController::LocalController(Parts parts, Watcher& watcher)
    : watcher_(watcher),
      study_(parts.controller.owner),
      loop_(std::move(parts.loop)),
      commit_done_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      signals_(OpenSignals()),
      writer_(std::make_unique<Writer>(std::move(parts.ledger), commit_done_)),
      clock_(*loop_),
      reception_(*loop_,
                 [this](const wire::Ask& ask, std::function<void(const wire::Answer&)> answer) {
                   controller_.Asked(ask, std::move(answer));
                 }),
      controller_(std::move(parts.controller), clock_, *writer_),
      socket_(parts.paths.socket) {
  SLUICE_CHECK(commit_done_ >= 0 && signals_ >= 0, "the system gives us two descriptors");
  auto lodger = std::make_unique<Lodger>(*this, study_, std::move(parts.sampler),
                                         LocalSite::Options{.paths = parts.paths,
                                                            .launcher = parts.launcher,
                                                            .trainer = parts.trainer,
                                                            .study = study_,
                                                            .world = std::move(parts.world),
                                                            .guard = parts.guard});
  controller_.Add({.study = study_,
                   .site = lodger->site(),
                   .searcher = lodger->searcher(),
                   .knowledge = std::move(parts.knowledge)});
  lodgers_[study_] = std::move(lodger);
  loop_->Watch(commit_done_, [this] { CommitDone(); });
  loop_->Watch(signals_, [this] { Interrupted(); });
}

LocalController::~LocalController() {
  writer_.reset();
  for (int descriptor : {commit_done_, signals_}) {
    loop_->Forget(descriptor);
    close(descriptor);
  }
  const sigset_t ours = HeardSignals();
  // From here on only the summary is printed. A further Ctrl-C has nothing to end and is ignored.
  if (interrupts_ > 0) {
    for (int word : {SIGINT, SIGTERM}) signal(word, SIG_IGN);
  }
  sigprocmask(SIG_UNBLOCK, &ours, nullptr);
}

Result<RunEnd> LocalController::Run(std::vector<EventBody> first) {
  RaiseDescriptorLimit();
  for (auto& [study, lodger] : lodgers_)
    SLUICE_TRY(lodger->site().Open(controller_.workforce(study)));
  controller_.Begin(std::move(first));
  SLUICE_TRY(reception_.Listen(socket_));
  for (auto& [study, lodger] : lodgers_) lodger->site().Welcome();
  Tick();
  while (!controller_.failure() && !controller_.Over()) {
    Flush();
    loop_->RunOnce();
    SayPause();
    if (study().finished || controller_.engine().IsHeld(study())) workforce().DismissIdle();
  }
  const Status written = LastCommit();
  watcher_.Tick(study(), loop_->Now());
  if (!written) return std::unexpected(written.error());
  if (study().finished) return RunEnd::kFinished;
  if (!study().pause.empty()) return RunEnd::kPaused;
  return interrupts_ > 1 ? RunEnd::kInterrupted : RunEnd::kDrained;
}

Status LocalController::LastCommit() {
  if (controller_.failure()) return std::unexpected(*controller_.failure());
  if (writer_->busy()) SLUICE_TRY(writer_->Wait());
  Batch batch = controller_.LastWords();
  if (batch.empty()) return {};
  writer_->Submit(std::move(batch));
  return writer_->Wait();
}

void LocalController::Flush() {
  // Waits a moment for a proposal, so that it is committed together with the end of the trial that
  // made room for it.
  if (controller_.WaitsForProposal()) {
    std::vector<pollfd> ready;
    for (auto& [study, lodger] : lodgers_)
      ready.push_back({.fd = lodger->ready(), .events = POLLIN, .revents = 0});
    const timespec moment{.tv_sec = 0, .tv_nsec = kQuickProposal.count() * 1000};
    if (ppoll(ready.data(), ready.size(), &moment, nullptr) > 0) {
      for (auto& [study, lodger] : lodgers_) lodger->Proposals();
    }
  }
  controller_.Flush();
}

void LocalController::CommitDone() {
  ClearSignal(commit_done_);
  if (const std::optional<Status> done = writer_->TakeDone()) controller_.Committed(*done);
}

void LocalController::Interrupted() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGHUP) continue;
    ++interrupts_;
    if (interrupts_ == 1) {
      const int running = controller_.engine().running();
      watcher_.Say(running == 0 ? std::string("stopping")
                                : fmt::format("stopping: waiting for {} running trial{} to save or "
                                              "finish; Ctrl-C again kills {}",
                                              running, running == 1 ? "" : "s",
                                              running == 1 ? "it" : "them"));
      controller_.Happened(DrainAsked{});
    } else if (interrupts_ == 2) {
      watcher_.Say("killing running trials; 'sluice resume' continues from the checkpoints");
      workforce().KillAll();
    }
  }
}

void LocalController::SayPause() {
  if (study().pause.empty() || std::exchange(said_pause_, true)) return;
  watcher_.Say(fmt::format("trials cannot be started, and the study pauses: {}", study().pause));
}

void LocalController::Tick() {
  const Time now = loop_->Now();
  if (now >= ticked_ + kTickAtLeast || controller_.TakeNews()) {
    (void)controller_.TakeNews();
    watcher_.Tick(study(), now);
    ticked_ = now;
  }
  loop_->At(now + kTickEvery, [this] { Tick(); });
}

}  // namespace sluice
