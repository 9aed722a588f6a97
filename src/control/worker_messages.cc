// What workers say: through the protocol, or on standard output.

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/planted.h"
#include "base/text.h"
#include "control/assignment.h"
#include "control/host.h"

namespace sluice {
namespace {

constexpr std::size_t kMostNamed = 10;
constexpr Duration kLeaseCheckEvery = std::chrono::milliseconds(100);

}  // namespace

void Workforce::Connected(PeerId peer) {
  auto added = std::make_unique<Peer>();
  added->id = peer;
  peers_[peer] = std::move(added);
}

void Workforce::Closed(PeerId peer) { Detach(peer); }

void Workforce::Detach(PeerId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  if (Host* host = found->second->host) {
    host->peer = nullptr;
    host->ready = false;
    host->to_drop.clear();
    host->heard = site_.Now();  // the worker has one lease to connect again
  }
  peers_.erase(found);
}

void Workforce::Refuse(PeerId peer, const std::string& reason) {
  site_.Send(peer, wire::Refuse{reason});
  Detach(peer);
  site_.Close(peer);
}

// Refuses a worker once the events so far are on disk. Otherwise a worker might leave because of an
// event that a crash then undoes, and its launch would seem to have ended by itself.
void Workforce::RefuseInTurn(Peer& peer, std::string reason) {
  if (Planted("early-word")) return Refuse(peer.id, reason);
  peer.refused = true;
  owner_.DoInTurn([this, id = peer.id, reason = std::move(reason)] {
    if (peers_.contains(id)) Refuse(id, reason);
  });
}

void Workforce::Heard(PeerId id, std::string_view line) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || found->second->refused) return;
  Peer& peer = *found->second;
  auto message = wire::DecodeFromWorker(line);
  if (!message) return Refuse(id, message.error().message);
  if (peer.host != nullptr) Renumber(*peer.host, *message);
  const auto step = peer.link.Hear(*message, site_.Now());
  if (!step) return Refuse(id, step.error().message);
  if (peer.host != nullptr) {
    peer.host->heard = site_.Now();
    peer.host->expired = false;
  }
  const bool from_worker = *step == wire::WorkerLink::Step::kReady ||
                           *step == wire::WorkerLink::Step::kNumbered ||
                           *step == wire::WorkerLink::Step::kCapacity;
  SLUICE_CHECK(peer.host != nullptr || !from_worker, "a worker that was greeted has a host");
  switch (*step) {
    case wire::WorkerLink::Step::kGreeted: return Greeted(peer);
    case wire::WorkerLink::Step::kAlive:
    case wire::WorkerLink::Step::kDropped: return;
    case wire::WorkerLink::Step::kCapacity:
      return CapacityChanged(*peer.host, peer.link.hello().capacity);
    case wire::WorkerLink::Step::kReady: return WorkerReady(peer, *peer.host);
    case wire::WorkerLink::Step::kNumbered: return Numbered(*peer.host, *message, /*live=*/true);
    case wire::WorkerLink::Step::kAsk:
      return owner_.Asked(std::get<wire::Ask>(*message), [this, id](const wire::Answer& answer) {
        if (peers_.contains(id)) site_.Send(id, answer);
      });
  }
}

void Workforce::Greeted(Peer& peer) {
  const wire::Hello& hello = peer.link.hello();
  Host* host = FindOrReachHost(hello.worker);
  if (host == nullptr || (!hello.study.empty() && hello.study != study().spec.name)) {
    return Refuse(peer.id,
                  fmt::format("no worker '{}' of study '{}' is known", hello.worker, hello.study));
  }
  if (hello.version >= 2) {
    if (Attach(peer, *host)) GreetBundle(peer, *host);
    return;
  }
  const std::optional<wire::LaunchRef> at =
      hello.launches.empty() ? std::nullopt : std::optional(hello.launches.front());
  const Trial* trial = at ? TrialOf(*at) : nullptr;
  // The worker of an ended launch may not have got the acknowledgement of the end yet, and may
  // report the end again.
  const bool over = trial != nullptr && trial->state != TrialState::kRunning;
  if (at && (trial == nullptr || (host->at() != at && !over))) {
    return RefuseInTurn(peer, fmt::format("launch {} of trial {} was given up", Number(at->launch),
                                          Number(at->trial)));
  }
  if (!Attach(peer, *host)) return;
  host->is_bundle = false;  // a program that has replaced itself may speak another version
  TakesOne(*host);
  if (trial != nullptr) peer.link.Hold(*at, trial->launch.seq);
  if (trial == nullptr || host->at() != at) return;
  TellMissed(*trial);
}

// Ties the connection to the host, and returns true. If the process at the other end may not speak
// for the host, refuses the connection and returns false.
bool Workforce::Attach(Peer& peer, Host& host) {
  const wire::Hello& hello = peer.link.hello();
  auto speaker = site_.Identify(peer.id, host.name, hello.secret);
  if (Planted("any-speaker")) speaker = Speaker{.speaks = true, .pid = hello.pid};
  if (!speaker) return Refuse(peer.id, speaker.error().message), false;
  const bool another = host.speaker.pid != 0 && !speaker->Is(host.speaker);
  if (another && site_.Lives(host.speaker)) {
    // One process reports at a time.
    for (const wire::LaunchRef& at : hello.launches) {
      if (TrialOf(at) == nullptr) continue;
      owner_.Happened(
          TrialNoted{KeyOf(at),
                     at.launch,
                     {},
                     "a second process of this trial wanted to report: only the first is heard"},
          std::nullopt);
    }
    return Refuse(peer.id, "another process of this launch reports already"), false;
  }
  if (host.peer != nullptr) {  // it connected again before its old connection was seen to close
    const PeerId old = host.peer->id;
    Detach(old);
    site_.Close(old);
  }
  peer.host = &host;
  host.peer = &peer;
  for (auto& [at, member] : host.members) member.told_complete = false;
  host.heard = site_.Now();
  if (!host.speaker.speaks || another) {
    host.renumbers = another && hello.version < 2;
    host.speaker = *speaker;
    if (!host.renumbers) site_.Spoke(host.name, *speaker);
    for (auto& [at, member] : host.members) member.is_new = true;
  }
  const auto lease_ms = study().spec.timeouts.lease.count() / 1000;
  site_.Send(peer.id, wire::Welcome{
                          .version = hello.version, .lease_ms = lease_ms, .window = wire::kWindow});
  return true;
}

// Tells a worker what it missed while no controller ran, or before it connected.
void Workforce::TellMissed(const Trial& trial) {
  const TrialKey key{study_, trial.id};
  const auto tell = [this](const auto& command) {
    if (Planted("early-word")) return CarryOut(command);
    owner_.CarryOutInTurn(command);
  };
  if (trial.leaving) return tell(StopLaunch{key, trial.launch.id, ToldReason(study(), trial)});
  tell(SetBudget{key, trial.launch.id, trial.target});
}

// Numbers the messages of a process after those of earlier processes of its launch. Messages that
// the earlier processes could not deliver are taken in before the first message of this process,
// since their numbers are lower. If this process uses numbers of an earlier process, for example
// because both count from 1, an offset is added to its numbers (Speaker::base).
void Workforce::Renumber(Host& host, wire::FromWorker& message) {
  const wire::Numbered numbered = wire::NumberOf(message);
  const std::uint64_t its = wire::ConversationOf(numbered.seq);
  if (numbered.seq == 0 || TrialOf(numbered.at) == nullptr) return;
  const auto member = host.members.find(numbered.at);
  const bool held = member != host.members.end();
  if (held && std::exchange(member->second.is_new, false)) {
    ReadSpool(host, numbered.at, /*before=*/its);
    if (!IsRunning(numbered.at)) {  // an earlier process had ended it
      if (host.is_bundle) RefuseLaunchInTurn(*host.peer, numbered.at);
      return;
    }
  }
  const Trial* trial = TrialOf(numbered.at);
  // A message of a launch that has ended says nothing of the numbers of the launch that goes on.
  if (held && std::exchange(host.renumbers, false)) {
    const std::uint64_t last = wire::ConversationOf(trial->launch.seq);
    if (trial->launch.seq > 0 && its <= last)
      host.speaker.base = (last + 1 - its) * wire::kConversation;
    // Not recorded before: the next controller could not know that the offset is still to be found.
    site_.Spoke(host.name, host.speaker);
  }
  std::visit(
      [&](auto& each) {
        if constexpr (requires { each.seq; }) each.seq += host.speaker.base;
      },
      message);
}

// An idle host that was started by an earlier controller is dismissed to make room if its node or
// its devices are not known any more.
void Workforce::DismissIfUnplaced(Host& host) {
  if (IsUnplaced(host)) Dismiss(host);
}

void Workforce::WorkerReady(Peer& peer, Host& host) {
  if (host.dismissed) return site_.Send(peer.id, wire::Exit{});
  host.ready = true;
  const std::optional<wire::LaunchRef> at = host.at();
  if (!at) {
    peer.link.ReleaseAll();
    DismissIfUnplaced(host);
    return;
  }
  // The host was given a launch, but the earlier controller ended before the worker heard of it.
  if (!IsRunning(*at)) return Left(host, *at);
  const Trial& trial = *TrialOf(*at);
  host.ready = false;
  peer.link.Hold(*at, trial.launch.seq);
  site_.Send(peer.id, MakeAssign(study(), trial, site_.PlacesOf(*at)));
}

// Takes in a numbered message, from a connection or from what a worker left behind. A new message
// is recorded. A message from a connection is acknowledged once the events so far are on disk.
void Workforce::Numbered(Host& host, const wire::FromWorker& message, bool live) {
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
    // The worker has its next launch already, so the end of this one is on disk. Only the
    // acknowledgement was lost, so it is sent again immediately.
    const bool has_next = !host.is_bundle && host.at() && host.at() != numbered.at;
    if (has_next) return Acknowledge(*receipt, 1);
    return owner_.AcknowledgeInTurn(*receipt);
  }
  if (admission == Admission::kStale) {
    if (live && host.is_bundle) RefuseLaunchInTurn(*host.peer, numbered.at);
    if (live && !host.is_bundle) RefuseInTurn(*host.peer, "the launch was given up");
    return;
  }
  if (receipt) ++host.owed;
  const auto ended = [&](Ending ending, std::string reason) {
    Left(host, numbered.at);
    owner_.Happened(LaunchEnded{.trial = key,
                                .launch = launch,
                                .position = position,
                                .ending = ending,
                                .reason = std::move(reason),
                                .checkpoint_bytes = site_.CheckpointBytes(key.trial),
                                .checkpoint_work = site_.CheckpointWork(key.trial)},
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
                            study().spec.unit, report->work, TrialOf(numbered.at)->launch.work)},
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
  if (std::holds_alternative<wire::Released>(message))
    return ended(Ending::kReleased, "its process handed it back");
  if (const auto* profile = std::get_if<wire::Profile>(&message)) {
    return owner_.Happened(Profiled{key, launch, position,
                                    owner_.engine().MeasuredBy(key, profile->trials, profile->bytes,
                                                               profile->work_per_second)},
                           receipt);
  }
}

// Finds workers that speak the protocol and were silent for longer than the lease.
void Workforce::CheckLeases() {
  const Time now = site_.Now();
  const Duration lease = study().spec.timeouts.lease;
  // Time that the controller lost, because the machine slept or was busy elsewhere, does not count
  // as silence of the workers.
  const Duration lost = now - leases_checked_ - kLeaseCheckEvery;
  if (lease_timer_ != 0 && lost > Duration(0) && !Planted("own-silence")) {
    for (auto& [name, host] : hosts_) host->heard = std::min(now, host->heard + lost);
  }
  leases_checked_ = now;
  std::vector<std::string> silent;
  for (auto& [name, host] : hosts_) {
    if (host->speaker.speaks && !host->expired && now > host->heard + lease &&
        !Planted("endless-lease"))
      silent.push_back(name);
  }
  for (const std::string& name : silent) {
    Host& host = *hosts_.at(name);
    host.expired = true;
    for (const wire::LaunchRef& at : host.Carried())
      owner_.Happened(LeaseExpired{KeyOf(at), at.launch}, std::nullopt);
    if (host.Carried().empty()) Signal(host, Force::kKill);
  }
  lease_timer_ = site_.At(now + kLeaseCheckEvery, [this] { CheckLeases(); });
}

void Workforce::OutputGrew(const std::string& worker) {
  const auto found = hosts_.find(worker);
  if (found != hosts_.end()) ReadOutput(*found->second, /*at_end=*/false);
}

// Reads whole lines that have not been read yet. After a restart, Launch::offset tells which lines
// were read.
void Workforce::ReadOutput(Host& host, bool at_end) {
  if (host.speaker.speaks || !host.at()) return;
  host.offset = site_.ReadOutput(
      host.name, host.offset, at_end,
      [&](std::string_view line, std::uint64_t end) { OutputLine(host, line, end); });
}

void Workforce::OutputLine(Host& host, std::string_view line, std::uint64_t offset) {
  const auto found = wire::DecodeOutputLine(line, study().spec.objective.metric, study().spec.unit);
  const wire::LaunchRef at = *host.at();
  const TrialKey key = KeyOf(at);
  const LaunchId launch = at.launch;
  const Position position{.seq = 0, .offset = offset};
  const Engine& engine = owner_.engine();
  if (engine.Admit(key, launch, position) != Admission::kNew) return;
  const auto note = [&](std::string text) {
    owner_.Happened(TrialNoted{key, launch, position, std::move(text)}, std::nullopt);
  };
  if (!found)
    return note(fmt::format("a result on standard output was left out: {}", found.error().message));
  if (!*found) {
    // The study may name another metric than the program prints. These names are kept for the
    // message that the trial then fails with.
    for (const std::string& name : wire::NumbersOn(line)) {
      if (host.other_numbers.size() < kMostNamed) host.other_numbers.insert(Shown(name));
    }
    return;
  }
  TakesOne(host);
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
                              study().spec.unit, work, TrialOf(at)->launch.work));
    default: return;
  }
}

}  // namespace sluice
