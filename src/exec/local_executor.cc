#include "exec/local_executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "exec/copy_folder.h"
#include "exec/host.h"
#include "exec/spawn.h"
#include "launcher/claim.h"

namespace sluice {

LocalExecutor::LocalExecutor(EventLoop& loop, ExecutorOwner& owner, Options options)
    : loop_(loop),
      owner_(owner),
      options_(std::move(options)),
      folders_(options_.paths, owner.engine().study(options_.study)->spec.name) {}

LocalExecutor::~LocalExecutor() {
  loop_.Cancel(lease_timer_);
  loop_.Cancel(accept_timer_);
  peers_.clear();
  for (auto& [name, host] : hosts_) {
    loop_.Cancel(host->force_timer);
    loop_.Forget(host->pidfd);
    host->Close();
  }
  for (int descriptor : {listener_, inotify_}) {
    if (descriptor < 0) continue;
    loop_.Forget(descriptor);
    close(descriptor);
  }
  if (listener_ >= 0) unlink(options_.paths.socket.c_str());
}

Status LocalExecutor::Open(const std::vector<wire::LaunchRef>& inherited) {
  RaiseDescriptorLimit();
  inotify_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (inotify_ < 0)
    return Unavailable(fmt::format("cannot watch output files: {}", std::strerror(errno)));
  loop_.Watch(inotify_, [this] { OutputChanged(); });
  // What ran under an earlier controller is known before its workers come back.
  for (const wire::LaunchRef& at : inherited) Adopt(at);
  SLUICE_ASSIGN(listener_, ListenAt(options_.paths.socket));
  loop_.Watch(listener_, [this] { Accept(); });
  CheckLeases();
  return {};
}

const Study& LocalExecutor::study() const { return *owner_.engine().study(options_.study); }

const Trial* LocalExecutor::TrialOf(wire::LaunchRef at) const {
  const Trial* trial = owner_.engine().trial(KeyOf(at));
  return trial != nullptr && trial->launch == at.launch ? trial : nullptr;
}

LocalExecutor::Host& LocalExecutor::AddHost(wire::LaunchRef started_for, int pidfd, bool child) {
  auto host = std::make_unique<Host>();
  host->name = WorkerName(started_for);
  host->folder = folders_.Launch(started_for);
  host->pidfd = pidfd;
  host->child = child;
  host->heard = loop_.Now();
  if (std::ifstream speaks(host->folder + "/speaks"); speaks) {
    host->speaks = true;
    speaks >> host->speaker_pid;
  }
  loop_.Watch(pidfd, [this, name = host->name] { HostEnded(name); });
  Host& added = *host;
  hosts_[added.name] = std::move(host);
  return added;
}

LocalExecutor::Host* LocalExecutor::Carrier(wire::LaunchRef at) {
  for (auto& [name, host] : hosts_) {
    if (host->at == at) return host.get();
  }
  return nullptr;
}

// A process that an earlier controller started and that still lives.
LocalExecutor::Host* LocalExecutor::FindOrAdoptHost(const std::string& worker) {
  if (const auto found = hosts_.find(worker); found != hosts_.end()) return found->second.get();
  const std::optional<wire::LaunchRef> started_for = ParseWorkerName(worker);
  if (!started_for) return nullptr;
  const std::optional<Claim> claim = ReadClaim(folders_.Launch(*started_for));
  if (!claim || !IsAlive(*claim)) return nullptr;
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, claim->pid, 0));
  if (pidfd < 0) return nullptr;
  if (!IsAlive(*claim)) {  // it ended, and its number may be another's by now
    close(pidfd);
    return nullptr;
  }
  return &AddHost(*started_for, pidfd, /*child=*/false);
}

void LocalExecutor::Adopt(wire::LaunchRef at) {
  const std::string folder = folders_.Launch(at);
  std::optional<Claim> claim = ReadClaim(folder);
  if (!claim) {
    // It was written down and perhaps never started. If we claim it, nobody will; if somebody was
    // faster, it runs.
    if (folders_.Make(at)) MakeClaim(folder, Claim{});
    claim = ReadClaim(folder);
  }
  Host* host = nullptr;
  if (claim && claim->pid != 0) {
    const std::filesystem::path carrier(claim->host);
    const std::string launch = carrier.filename().string().substr(std::strlen("launch-"));
    host = FindOrAdoptHost(fmt::format("{}.{}", carrier.parent_path().filename().string(), launch));
  }
  const Trial& trial = *TrialOf(at);
  if (host != nullptr) {
    host->at = at;
    host->grant = trial.grant;
    host->offset = trial.offset;
    host->output_work = trial.launch_work;
    WatchOutput(*host);
    ReadOutput(*host, /*at_end=*/false);
    return;
  }
  if (!claim || claim->pid == 0) {
    owner_.Happened(LaunchEnded{.trial = KeyOf(at),
                                .launch = at.launch,
                                .position = {},
                                .ending = Ending::kLost,
                                .reason = "",
                                .checkpoint_bytes = -1},
                    std::nullopt);
    return;
  }
  Host gone;
  gone.name = WorkerName(at);
  gone.at = at;
  gone.folder = claim->host;
  gone.offset = trial.offset;
  gone.output_work = trial.launch_work;
  gone.speaks = access((gone.folder + "/speaks").c_str(), F_OK) == 0;
  LaunchOver(gone);
}

void LocalExecutor::CarryOut(const Start& command) {
  const wire::LaunchRef at{command.trial.trial, command.launch};
  const Trial* trial = TrialOf(at);
  if (trial == nullptr || trial->state != TrialState::kRunning || Carrier(at) != nullptr) return;
  if (killing_) {  // the user's second word came while the start was being written down
    owner_.Happened(LaunchEnded{.trial = command.trial,
                                .launch = command.launch,
                                .position = {},
                                .ending = Ending::kLost,
                                .reason = "",
                                .checkpoint_bytes = -1},
                    std::nullopt);
    return;
  }
  Host* idle = IdleHost(command.grant);
  const Status started = idle != nullptr ? AssignTo(*idle, *trial) : SpawnHost(*trial);
  if (started) return;
  owner_.Happened(LaunchEnded{.trial = command.trial,
                              .launch = command.launch,
                              .position = {},
                              .ending = Ending::kFailed,
                              .reason = started.error().message,
                              .checkpoint_bytes = -1},
                  std::nullopt);
}

LocalExecutor::Host* LocalExecutor::IdleHost(const Grant& grant) {
  for (auto& [name, host] : hosts_) {
    // One whose last words are not on disk yet would be found with two launches after a crash.
    const bool idle = host->ready && !host->at && !host->dismissed && host->owed == 0;
    if (idle && host->grant.devices == grant.devices) return host.get();
  }
  return nullptr;
}

Status LocalExecutor::AssignTo(Host& host, const Trial& trial) {
  const wire::LaunchRef at{trial.id, trial.launch};
  SLUICE_TRY(folders_.MakeFresh(at));
  Claim claim = ReadClaim(host.folder).value_or(Claim{});
  if (!MakeClaim(folders_.Launch(at), claim))
    return Unavailable("the launch was claimed by somebody else");
  host.at = at;
  host.ready = false;
  host.grant = trial.grant;
  host.peer->link.Hold(at, trial.seq);
  host.peer->connection->Send(MakeAssign(study(), trial, folders_));
  return {};
}

Status LocalExecutor::SpawnHost(const Trial& trial) {
  const wire::LaunchRef at{trial.id, trial.launch};
  SLUICE_TRY(folders_.MakeFresh(at));
  const Node& node = owner_.engine().cluster().node(trial.grant.node);
  LaunchPlan plan = PlanLaunch(study(), trial, node, folders_, options_.paths.socket);
  const std::string& folder = plan.assign.folder;
  SLUICE_TRY(WriteFile(folder + "/trial.json", wire::Encode(wire::ToWorker(plan.assign))));
  SLUICE_TRY(WriteFile(folder + "/params.json", plan.params));
  SLUICE_TRY(WriteFile(folder + "/stdout", ""));
  std::error_code error;
  std::filesystem::create_directories(plan.assign.checkpoint_dir, error);
  SLUICE_ASSIGN(const Spawned spawned, Spawn({.launcher = options_.launcher,
                                              .folder = folder,
                                              .working_folder = study().folder,
                                              .program = std::move(plan.program),
                                              .environment = std::move(plan.environment),
                                              .grace = study().spec.timeouts.grace,
                                              .output_cap_bytes = study().spec.output_cap_bytes}));
  Host& host = AddHost(at, spawned.pidfd, /*child=*/true);
  host.at = at;
  host.grant = trial.grant;
  WatchOutput(host);
  // What it printed before it was watched made no event.
  loop_.At(loop_.Now(), [this, name = host.name] {
    if (const auto found = hosts_.find(name); found != hosts_.end())
      ReadOutput(*found->second, /*at_end=*/false);
  });
  return {};
}

void LocalExecutor::CarryOut(const SetBudget& command) {
  const wire::LaunchRef at{command.trial.trial, command.launch};
  Host* host = Carrier(at);
  if (host == nullptr || host->peer == nullptr) return;
  wire::Budget budget{.at = at, .target = std::nullopt};
  if (command.target != kNoLimit) budget.target = command.target;
  host->peer->connection->Send(budget);
}

void LocalExecutor::CarryOut(const StopLaunch& command) {
  const wire::LaunchRef at{command.trial.trial, command.launch};
  Host* host = Carrier(at);
  if (host == nullptr) return;
  Connection* connection = host->peer != nullptr ? host->peer->connection.get() : nullptr;
  const auto stop = [&](const char* why) {
    if (connection != nullptr) connection->Send(wire::Stop{at, why});
  };
  const bool hears = connection != nullptr;
  switch (command.reason) {
    case StopReason::kComplete:
      stop("complete");
      // Told before, and still at it: a program that cannot hear, or does not listen.
      if (host->told_complete && !hears) Signal(*host, SIGTERM);
      if (host->told_complete && hears) ForceLater(*host);
      host->told_complete = true;
      return;
    case StopReason::kYield:
      if (hears) connection->Send(wire::Pause{at});
      return;
    case StopReason::kPaused:
      if (hears) connection->Send(wire::Pause{at});
      break;
    case StopReason::kStopped: stop("stopped"); break;
    case StopReason::kStudy: stop("study"); break;
    case StopReason::kTimeout: return Signal(*host, SIGTERM);
    case StopReason::kLease: return Signal(*host, SIGUSR1);
  }
  if (hears) {
    ForceLater(*host);
  } else {
    Signal(*host, SIGTERM);
  }
}

void LocalExecutor::CarryOut(const CopyCheckpoint& command) {
  const Status copied =
      CopyFolder(folders_.Checkpoint(command.from), folders_.Checkpoint(command.to));
  owner_.Happened(CheckpointCopied{.trial = {command.study, command.to},
                                   .error = copied ? "" : copied.error().message},
                  std::nullopt);
}

void LocalExecutor::CarryOut(const Evict& command) {
  std::error_code ignored;
  std::filesystem::remove_all(folders_.Checkpoint(command.trial.trial), ignored);
}

void LocalExecutor::Acknowledge(const Receipt& receipt, int count) {
  const auto found = hosts_.find(receipt.worker);
  if (found == hosts_.end()) return;
  found->second->owed -= count;
  if (found->second->peer == nullptr) return;
  found->second->peer->connection->Send(wire::Ack{receipt.at, receipt.seq});
}

void LocalExecutor::DismissIdle() {
  for (auto& [name, host] : hosts_) {
    if (!host->at && !host->dismissed) Dismiss(*host);
  }
}

void LocalExecutor::Dismiss(Host& host) {
  host.dismissed = true;
  if (host.peer != nullptr) host.peer->connection->Send(wire::Exit{});
  ForceLater(host);
}

void LocalExecutor::KillAll() {
  killing_ = true;
  for (auto& [name, host] : hosts_) Signal(*host, SIGUSR1);
}

void LocalExecutor::Signal(Host& host, int signal) {
  host.dismissed = true;  // its launcher sees it to its end: another trial would go with it
  syscall(SYS_pidfd_send_signal, host.pidfd, signal, nullptr, 0);
}

// Asked already; made to, if it is still there after the grace period.
void LocalExecutor::ForceLater(Host& host) {
  if (host.force_timer != 0) return;
  const std::optional<wire::LaunchRef> at = host.at;
  host.force_timer =
      loop_.At(loop_.Now() + study().spec.timeouts.grace, [this, name = host.name, at] {
        const auto found = hosts_.find(name);
        if (found == hosts_.end()) return;
        found->second->force_timer = 0;
        if (found->second->at == at) Signal(*found->second, SIGTERM);
      });
}

void LocalExecutor::HostEnded(const std::string& worker) {
  const auto found = hosts_.find(worker);
  SLUICE_CHECK(found != hosts_.end(), "an ended host is known");
  Host& host = *found->second;
  loop_.Forget(host.pidfd);
  loop_.Cancel(host.force_timer);
  if (host.child) {
    siginfo_t info{};
    waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(host.pidfd), &info, WEXITED);
  }
  // What it said before it ended comes before its end.
  HearNewcomers();
  if (host.peer != nullptr) host.peer->connection->Drain();
  if (host.peer != nullptr) {
    const std::uint64_t peer = host.peer->number;
    host.peer = nullptr;
    peers_.erase(peer);
  }
  if (host.watch >= 0) {
    inotify_rm_watch(inotify_, host.watch);
    output_watches_.erase(host.watch);
  }
  const std::unique_ptr<Host> gone = std::move(found->second);
  hosts_.erase(found);
  LaunchOver(*gone);
}

// The process that carried a launch is gone: what it said last, what it could not deliver, then how
// it ended.
void LocalExecutor::LaunchOver(Host& gone) {
  ReadOutput(gone, /*at_end=*/true);
  gone.Close();
  if (!gone.at) return;
  const wire::LaunchRef at = *gone.at;
  const std::string folder = folders_.Launch(at);
  for (const std::string& line : ReadSpool(folder)) {
    const auto message = wire::DecodeFromWorker(line);
    if (message && wire::NumberOf(*message).at == at) Numbered(gone, *message, /*live=*/false);
  }
  const Trial* trial = TrialOf(at);
  if (trial == nullptr || trial->state != TrialState::kRunning) return;
  const LaunchEnd end = ReadLaunchEnd(folder, gone.folder);
  Ending ending = Ending::kLost;
  switch (end.kind) {
    case LaunchEnd::Kind::kDone: ending = Ending::kDone; break;
    case LaunchEnd::Kind::kPaused: ending = Ending::kPaused; break;
    case LaunchEnd::Kind::kFailed: ending = Ending::kFailed; break;
    case LaunchEnd::Kind::kLost: ending = Ending::kLost; break;
  }
  owner_.Happened(LaunchEnded{.trial = KeyOf(at),
                              .launch = at.launch,
                              .position = {},
                              .ending = ending,
                              .reason = end.reason,
                              .checkpoint_bytes = FolderBytes(folders_.Checkpoint(at.trial))},
                  std::nullopt);
}

}  // namespace sluice
