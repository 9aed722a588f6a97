// How the executor hears what trials say: through the worker protocol, or on standard output.

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/check.h"
#include "exec/host.h"
#include "exec/local_executor.h"
#include "exec/spawn.h"

namespace sluice {
namespace {

constexpr Duration kLeaseCheckEvery = std::chrono::milliseconds(100);
constexpr Duration kAcceptAgain = std::chrono::milliseconds(100);
constexpr Duration kOwnSleep = std::chrono::seconds(2);

}  // namespace

void LocalExecutor::Accept() {
  while (true) {
    const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) {
      const bool exhausted = errno == EMFILE || errno == ENFILE;
      if (exhausted && accept_timer_ == 0) {
        // Whoever waits at the door would wake us all the time: we look again in a while.
        loop_.Forget(listener_);
        accept_timer_ = loop_.At(loop_.Now() + kAcceptAgain, [this] {
          accept_timer_ = 0;
          loop_.Watch(listener_, [this] { Accept(); });
        });
      }
      return;
    }
    auto peer = std::make_unique<Peer>();
    const std::uint64_t number = peer->number = next_peer_++;
    peer->connection = std::make_unique<Connection>(
        loop_, descriptor,
        Connection::Handlers{
            .line = [this, number](std::string_view line) { HearLine(number, line); },
            .closed = [this, number] { PeerClosed(number); }});
    peers_[number] = std::move(peer);
  }
}

// Those whose hello has not been read: somebody may have come, spoken and ended before we looked.
void LocalExecutor::HearNewcomers() {
  Accept();
  std::vector<std::uint64_t> newcomers;
  for (const auto& [number, peer] : peers_) {
    if (peer->host == nullptr) newcomers.push_back(number);
  }
  for (std::uint64_t number : newcomers) {
    if (const auto found = peers_.find(number); found != peers_.end())
      found->second->connection->Drain();
  }
}

void LocalExecutor::PeerClosed(std::uint64_t number) {
  const auto found = peers_.find(number);
  if (found == peers_.end()) return;
  if (Host* host = found->second->host) {
    host->peer = nullptr;
    host->ready = false;
    host->heard = loop_.Now();  // it has a lease's time to come back
  }
  peers_.erase(found);
}

void LocalExecutor::Refuse(std::uint64_t number, const std::string& reason) {
  peers_.at(number)->connection->Send(wire::Refuse{reason});
  PeerClosed(number);
}

void LocalExecutor::HearLine(std::uint64_t number, std::string_view line) {
  const auto found = peers_.find(number);
  if (found == peers_.end()) return;
  Peer& peer = *found->second;
  const auto message = wire::DecodeFromWorker(line);
  if (!message) return Refuse(number, message.error().message);
  const auto step = peer.link.Hear(*message, loop_.Now());
  if (!step) return Refuse(number, step.error().message);
  if (peer.host != nullptr) {
    peer.host->heard = loop_.Now();
    peer.host->expired = false;
  }
  switch (*step) {
    case wire::WorkerLink::Step::kGreeted: return Greeted(peer);
    case wire::WorkerLink::Step::kAlive: return;
    case wire::WorkerLink::Step::kReady: return WorkerReady(peer);
    case wire::WorkerLink::Step::kNumbered: return Numbered(*peer.host, *message, /*live=*/true);
    case wire::WorkerLink::Step::kAsk:
      return owner_.Asked(std::get<wire::Ask>(*message),
                          [this, number](const wire::Answer& answer) {
                            const auto asker = peers_.find(number);
                            if (asker != peers_.end()) asker->second->connection->Send(answer);
                          });
  }
}

void LocalExecutor::Greeted(Peer& peer) {
  const wire::Hello& hello = peer.link.hello();
  Host* host = FindOrAdoptHost(hello.worker);
  if (host == nullptr || (!hello.study.empty() && hello.study != study().spec.name)) {
    return Refuse(peer.number,
                  fmt::format("no worker '{}' of study '{}' is known", hello.worker, hello.study));
  }
  const Trial* trial = hello.at ? TrialOf(*hello.at) : nullptr;
  // A launch whose end is on disk, but whose worker has not heard so yet, may say its end again.
  const bool over = trial != nullptr && trial->state != TrialState::kRunning;
  if (hello.at && (trial == nullptr || (host->at != hello.at && !over))) {
    return Refuse(peer.number, fmt::format("launch {} of trial {} was given up",
                                           Number(hello.at->launch), Number(hello.at->trial)));
  }
  const bool another = host->speaker_pid != 0 && hello.pid != host->speaker_pid;
  const bool heard_before = trial != nullptr && trial->seq > 0 && !over;
  if (another && (heard_before || host->peer != nullptr)) {
    // Its messages are numbered from 1 again, and could not be told from those of the first.
    if (trial != nullptr) {
      owner_.Happened(
          TrialNoted{KeyOf(*hello.at),
                     trial->launch,
                     {},
                     "a second process of this trial wanted to report: only the first is heard"},
          std::nullopt);
    }
    return Refuse(peer.number, "another process of this launch reports already");
  }
  if (host->peer != nullptr) PeerClosed(host->peer->number);  // it came back before we saw it leave
  peer.host = host;
  host->peer = &peer;
  host->heard = loop_.Now();
  if (!host->speaks || hello.pid != host->speaker_pid) {
    host->speaks = true;
    host->speaker_pid = hello.pid;
    // So that the next controller knows; if this fails, it finds out as we did.
    (void)WriteFile(host->folder + "/speaks", fmt::format("{}\n", hello.pid));
  }
  if (hello.at) {
    peer.link.Hold(*hello.at, trial->seq);
  }
  const auto lease_ms = study().spec.timeouts.lease.count() / 1000;
  peer.connection->Send(wire::Welcome{.lease_ms = lease_ms, .window = wire::kWindow});
  if (!hello.at || host->at != hello.at) return;
  // What it missed while nobody was here, or before it connected.
  if (trial->leaving) {
    CarryOut(StopLaunch{KeyOf(*hello.at), trial->launch, trial->leave_reason});
  } else {
    CarryOut(SetBudget{KeyOf(*hello.at), trial->launch, trial->target});
  }
}

void LocalExecutor::WorkerReady(Peer& peer) {
  Host& host = *peer.host;
  if (host.dismissed) return peer.connection->Send(wire::Exit{});
  host.ready = true;
  if (!host.at) {
    peer.link.Release();
    // Left by an earlier controller, idle, on devices that nobody knows any more: it makes room.
    if (study().spec.demand.gpus > 0 && host.grant.devices.empty()) Dismiss(host);
    return;
  }
  // It was given a launch that it has not heard of: the last controller ended in between.
  const Trial* trial = TrialOf(*host.at);
  if (trial == nullptr || trial->state != TrialState::kRunning) {
    host.at.reset();
    return;
  }
  host.ready = false;
  peer.link.Hold(*host.at, trial->seq);
  peer.connection->Send(MakeAssign(study(), *trial, folders_));
}

// A numbered message, from a connection or from what a worker left behind: recorded if it is new,
// acknowledged in turn.
void LocalExecutor::Numbered(Host& host, const wire::FromWorker& message, bool live) {
  const wire::Numbered numbered = wire::NumberOf(message);
  const TrialKey key = KeyOf(numbered.at);
  const LaunchId launch = numbered.at.launch;
  const Position position{.seq = numbered.seq, .offset = 0};
  const Engine& engine = owner_.engine();
  std::optional<Receipt> receipt;
  if (live) receipt = Receipt{host.name, numbered.at, numbered.seq};

  const Admission admission = engine.Admit(key, launch, position);
  if (admission == Admission::kSeen) {
    if (!receipt) return;
    ++host.owed;
    // A worker that was given its next launch missed the acknowledgement of the last.
    if (host.at && *host.at != numbered.at) return Acknowledge(*receipt, 1);
    return owner_.AcknowledgeInTurn(*receipt);
  }
  if (admission == Admission::kStale) {
    if (live) Refuse(host.peer->number, "the launch was given up");
    return;
  }
  if (receipt) ++host.owed;
  const auto ended = [&](Ending ending, std::string reason) {
    host.at.reset();
    host.told_complete = false;
    loop_.Cancel(host.force_timer);
    host.force_timer = 0;
    owner_.Happened(LaunchEnded{.trial = key,
                                .launch = launch,
                                .position = position,
                                .ending = ending,
                                .reason = std::move(reason),
                                .checkpoint_bytes = FolderBytes(folders_.Checkpoint(key.trial))},
                    receipt);
  };
  if (const auto* report = std::get_if<wire::Report>(&message)) {
    Reported reported{.trial = key,
                      .launch = launch,
                      .position = position,
                      .work = report->work,
                      .metrics = report->values};
    switch (engine.Admit(reported)) {
      case Admission::kRetrained:
        return owner_.Happened(LaunchHeard{key, launch, position}, receipt);
      case Admission::kBackwards:
        return owner_.Happened(
            TrialNoted{
                key, launch, position,
                fmt::format("a report at {} {} came after one at {}: it was left out",
                            study().spec.unit, report->work, TrialOf(numbered.at)->launch_work)},
            receipt);
      default: return owner_.Happened(std::move(reported), receipt);
    }
  }
  if (const auto* attributes = std::get_if<wire::Attributes>(&message)) {
    return owner_.Happened(AttributesSet{key, launch, position, attributes->attributes}, receipt);
  }
  if (const auto* saved = std::get_if<wire::Saved>(&message)) {
    return owner_.Happened(CheckpointSaved{key, launch, position, saved->work, saved->bytes},
                           receipt);
  }
  if (std::holds_alternative<wire::Paused>(message)) return ended(Ending::kPaused, "");
  if (std::holds_alternative<wire::Done>(message)) return ended(Ending::kDone, "");
  if (const auto* failed = std::get_if<wire::Failed>(&message))
    return ended(Ending::kFailed, failed->reason);
}

// A worker that speaks must go on speaking.
void LocalExecutor::CheckLeases() {
  const Time now = loop_.Now();
  const Duration lease = study().spec.timeouts.lease;
  if (lease_timer_ != 0 && now > leases_checked_ + kLeaseCheckEvery + kOwnSleep) {
    for (auto& [name, host] : hosts_)
      host->heard = now;  // it was we who slept: the machine was suspended, say
  }
  leases_checked_ = now;
  std::vector<std::string> silent;
  for (auto& [name, host] : hosts_) {
    if (host->speaks && !host->expired && now > host->heard + lease) silent.push_back(name);
  }
  for (const std::string& name : silent) {
    Host& host = *hosts_.at(name);
    host.expired = true;
    if (host.at) {
      owner_.Happened(LeaseExpired{KeyOf(*host.at), host.at->launch}, std::nullopt);
    } else {
      Signal(host, SIGUSR1);
    }
  }
  lease_timer_ = loop_.At(now + kLeaseCheckEvery, [this] { CheckLeases(); });
}

void LocalExecutor::WatchOutput(Host& host) {
  if (host.speaks || host.watch >= 0) return;
  const std::string path = host.folder + "/stdout";
  host.watch = inotify_add_watch(inotify_, path.c_str(), IN_MODIFY);
  if (host.watch >= 0) output_watches_[host.watch] = host.name;
}

void LocalExecutor::OutputChanged() {
  alignas(inotify_event) std::array<char, 16384> buffer;
  bool missed = false;
  while (true) {
    const ssize_t size = read(inotify_, buffer.data(), buffer.size());
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      if ((event->mask & IN_Q_OVERFLOW) != 0) missed = true;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      const auto watch = output_watches_.find(event->wd);
      if (watch == output_watches_.end()) continue;
      const auto host = hosts_.find(watch->second);
      if (host != hosts_.end()) ReadOutput(*host->second, /*at_end=*/false);
    }
  }
  if (!missed) return;
  for (auto& [name, host] : hosts_) ReadOutput(*host, /*at_end=*/false);
}

// Reads whole lines that have not been read. The engine's offset tells after a restart what was.
void LocalExecutor::ReadOutput(Host& host, bool at_end) {
  if (host.speaks || !host.at) return;
  if (host.output < 0) host.output = open((host.folder + "/stdout").c_str(), O_RDONLY | O_CLOEXEC);
  if (host.output < 0) return;
  std::string text;
  std::array<char, 65536> buffer;
  std::uint64_t begin = host.offset;
  while (true) {
    const ssize_t size =
        pread(host.output, buffer.data(), buffer.size(), static_cast<off_t>(begin + text.size()));
    if (size <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    std::size_t line = 0;
    for (std::size_t end; (end = text.find('\n', line)) != std::string::npos; line = end + 1) {
      OutputLine(host, std::string_view(text).substr(line, end - line), begin + end + 1);
    }
    begin += line;
    text.erase(0, line);
    if (text.size() > wire::kLongestLine) {  // no report: go on behind it
      begin += text.size();
      text.clear();
    }
  }
  if (at_end && !text.empty()) {
    OutputLine(host, text, begin + text.size());
    begin += text.size();
  }
  host.offset = begin;
}

void LocalExecutor::OutputLine(Host& host, std::string_view line, std::uint64_t offset) {
  const auto found = wire::DecodeOutputLine(line, study().spec.objective.metric, study().spec.unit);
  const TrialKey key = KeyOf(*host.at);
  const LaunchId launch = host.at->launch;
  const Position position{.seq = 0, .offset = offset};
  const Engine& engine = owner_.engine();
  if (engine.Admit(key, launch, position) != Admission::kNew) return;
  const auto note = [&](std::string text) {
    owner_.Happened(TrialNoted{key, launch, position, std::move(text)}, std::nullopt);
  };
  if (!found)
    return note(fmt::format("a result on standard output was left out: {}", found.error().message));
  if (!*found) return;
  const Work work = (*found)->work.value_or(host.output_work + 1);
  Reported report{.trial = key,
                  .launch = launch,
                  .position = position,
                  .work = work,
                  .metrics = (*found)->values};
  switch (engine.Admit(report)) {
    case Admission::kNew:
      host.output_work = work;
      return owner_.Happened(std::move(report), std::nullopt);
    case Admission::kRetrained:
      host.output_work = work;
      return owner_.Happened(LaunchHeard{key, launch, position}, std::nullopt);
    case Admission::kBackwards:
      return note(fmt::format("a report at {} {} came after one at {}: it was left out",
                              study().spec.unit, work, TrialOf(*host.at)->launch_work));
    default: return;
  }
}

}  // namespace sluice
