#include "exec/local_controller.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"

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

LocalController::LocalController(Parts parts, Watcher& watcher)
    : watcher_(watcher),
      study_(parts.controller.owner),
      loop_(std::move(parts.loop)),
      commit_done_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      search_ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      signals_(OpenSignals()),
      writer_(std::make_unique<Writer>(std::move(parts.ledger), commit_done_)),
      search_(std::make_unique<SearchThread>(std::move(parts.sampler), search_ready_)),
      site_(*loop_, *parts.controller.engine,
            {.paths = parts.paths,
             .launcher = parts.launcher,
             .trainer = parts.trainer,
             .study = study_,
             .world = std::move(parts.world),
             .guard = parts.guard}),
      controller_(std::move(parts.controller), site_, *writer_) {
  SLUICE_CHECK(commit_done_ >= 0 && search_ready_ >= 0 && signals_ >= 0,
               "the system gives us three descriptors");
  controller_.Add({.study = study_,
                   .site = site_,
                   .searcher = *search_,
                   .knowledge = std::move(parts.knowledge)});
  loop_->Watch(commit_done_, [this] { CommitDone(); });
  loop_->Watch(search_ready_, [this] { Proposals(); });
  loop_->Watch(signals_, [this] { Interrupted(); });
}

LocalController::~LocalController() {
  search_.reset();
  writer_.reset();
  for (int descriptor : {commit_done_, search_ready_, signals_}) {
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
  SLUICE_TRY(site_.Open(workforce()));
  controller_.Begin(std::move(first));
  SLUICE_TRY(site_.Listen());
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
    pollfd ready{.fd = search_ready_, .events = POLLIN, .revents = 0};
    const timespec moment{.tv_sec = 0, .tv_nsec = kQuickProposal.count() * 1000};
    if (ppoll(&ready, 1, &moment, nullptr) > 0) Proposals();
  }
  controller_.Flush();
}

void LocalController::CommitDone() {
  ClearSignal(commit_done_);
  if (const std::optional<Status> done = writer_->TakeDone()) controller_.Committed(*done);
}

void LocalController::Proposals() {
  ClearSignal(search_ready_);
  for (SearchAnswer& answer : search_->TakeAnswers())
    controller_.Answered(study_, std::move(answer));
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
