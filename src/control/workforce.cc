// Hosts: which of them carries which launch, and how hosts start, get commands and end.

#include "control/workforce.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/planted.h"
#include "control/assignment.h"
#include "control/host.h"

namespace sluice {

Workforce::Workforce(Site& site, WorkforceOwner& owner, StudyId study)
    : site_(site), owner_(owner), study_(study) {}

Workforce::~Workforce() {
  site_.Cancel(lease_timer_);
  for (auto& [name, host] : hosts_) {
    site_.Cancel(host->exit_timer);
    for (auto& [at, member] : host->members) site_.Cancel(member.force_timer);
  }
}

void Workforce::Open(const std::vector<wire::LaunchRef>& inherited) {
  // The launches of an earlier controller are adopted before their workers connect again. Launches
  // of one process are adopted together, because the meaning of its end depends on how many it
  // carried.
  std::vector<std::pair<Inherited, std::vector<wire::LaunchRef>>> found;
  for (const wire::LaunchRef& at : inherited) {
    Inherited its = site_.Look(at);
    const auto same = std::ranges::find_if(found, [&](const auto& each) {
      return each.first.fate == its.fate && each.first.worker == its.worker;
    });
    if (its.fate != Inherited::Fate::kNever && same != found.end()) {
      same->second.push_back(at);
    } else {
      found.push_back({std::move(its), {at}});
    }
  }
  for (const auto& [its, launches] : found) Adopt(its, launches);
  CheckLeases();
}

const Study& Workforce::study() const { return *owner_.engine().study(study_); }

const Trial* Workforce::TrialOf(wire::LaunchRef at) const {
  const Trial* trial = owner_.engine().trial(KeyOf(at));
  const bool current = trial != nullptr && (trial->launch.id == at.launch || Planted("old-launch"));
  return current ? trial : nullptr;
}

bool Workforce::IsRunning(wire::LaunchRef at) const {
  const Trial* trial = TrialOf(at);
  return trial != nullptr && trial->state == TrialState::kRunning;
}

void Workforce::Tell(Host& host, const wire::ToWorker& message) {
  if (host.peer != nullptr) site_.Send(host.peer->id, message);
}

Workforce::Host& Workforce::AddHost(const std::string& worker) {
  auto host = std::make_unique<Host>();
  host->name = worker;
  host->heard = site_.Now();
  host->speaker = site_.WhoSpeaks(worker);
  Host& added = *host;
  hosts_[worker] = std::move(host);
  return added;
}

// The host that carries a launch, or that the launch waits to join.
Workforce::Host* Workforce::Carrier(wire::LaunchRef at) {
  for (auto& [name, host] : hosts_) {
    if (host->members.contains(at)) return host.get();
  }
  return nullptr;
}

// Also finds a host that an earlier controller started and that still lives.
Workforce::Host* Workforce::FindOrReachHost(const std::string& worker) {
  if (const auto found = hosts_.find(worker); found != hosts_.end()) return found->second.get();
  if (!ParseWorkerName(worker) || !site_.Reach(worker)) return nullptr;
  return &AddHost(worker);
}

void Workforce::TakeOver(Host& host, wire::LaunchRef at) {
  const Launch& launch = TrialOf(at)->launch;
  host.members[at].carried = true;
  host.grant = launch.grant;
  host.offset = launch.offset;
  if (!host.speaker.speaks) host.output_work = WorkInOutput(host, launch.offset);
}

// The work of the last report in a host's output up to an offset. Reports may say no work, and then
// count; those of work that an earlier launch has reported count too.
Work Workforce::WorkInOutput(const Host& host, std::uint64_t until) {
  Work work = 0;
  site_.ReadOutput(host.name, 0, /*at_end=*/false, [&](std::string_view line, std::uint64_t end) {
    if (end > until) return;
    const auto found =
        wire::DecodeOutputLine(line, study().spec.objective.metric, study().spec.unit);
    if (found && *found) work = std::max(work, (*found)->work.value_or(work + 1));
  });
  return work;
}

void Workforce::Adopt(const Inherited& found, const std::vector<wire::LaunchRef>& launches) {
  if (found.fate == Inherited::Fate::kRuns && !Planted("disowned"))
    return AdoptRunning(found.worker, launches);
  if (found.fate == Inherited::Fate::kGone && !Planted("disowned"))
    return AdoptGone(found.worker, launches);
  for (const wire::LaunchRef& at : launches) {
    if (IsRunning(at)) Ended(at, Ending::kLost, "");
  }
}

// The process of these launches lives.
void Workforce::AdoptRunning(const std::string& worker,
                             const std::vector<wire::LaunchRef>& launches) {
  const auto known = hosts_.find(worker);
  Host& host = known != hosts_.end() ? *known->second : AddHost(worker);
  for (const wire::LaunchRef& at : launches) {
    if (IsRunning(at)) TakeOver(host, at);
  }
  // All launches of this process were given up, for example because their node was lost, and the
  // process still runs.
  if (host.members.empty()) return Signal(host, Force::kKill);
  if (host.speaker.speaks) return;
  site_.WatchOutput(host.name);
  ReadOutput(host, /*at_end=*/false);
}

// The process of these launches has ended.
void Workforce::AdoptGone(const std::string& worker, const std::vector<wire::LaunchRef>& launches) {
  Host gone;
  gone.name = worker;
  gone.speaker = site_.WhoSpeaks(worker);
  for (const wire::LaunchRef& at : launches) {
    if (IsRunning(at)) TakeOver(gone, at);
  }
  HostOver(gone);
}

// Records the end of a launch that no process carries.
void Workforce::Ended(wire::LaunchRef at, Ending ending, std::string reason) {
  owner_.Happened(LaunchEnded{.trial = KeyOf(at),
                              .launch = at.launch,
                              .position = {},
                              .ending = ending,
                              .reason = std::move(reason),
                              .checkpoint_bytes = -1,
                              .checkpoint_work = -1},
                  std::nullopt);
}

void Workforce::CarryOut(const Start& command) {
  const wire::LaunchRef at{command.trial.trial, command.launch};
  if (!IsRunning(at) || Carrier(at) != nullptr) return;
  // The user interrupted for a second time (KillAll) while the start was being written down.
  if (killing_) return Ended(at, Ending::kLost, "");
  if (copies_.Hold(command)) return;
  const Trial& trial = *TrialOf(at);
  if (Host* bundle = BundleHost(trial)) return Join(*bundle, at);
  Host* idle = IdleHost(command.grant);
  if (idle != nullptr && !idle->to_drop.empty()) return Join(*idle, at);
  if (idle == nullptr) DismissFrom(command.grant);
  const Status started = idle != nullptr ? AssignTo(*idle, trial) : SpawnHost(trial);
  if (!started) return Ended(at, Ending::kNotStarted, started.error().message);
  if (idle != nullptr) TellCapacity(*idle);
}

// Whether the host has no launch, and can be given one.
bool Workforce::IsIdle(const Host& host) {
  if (host.dismissed || !host.members.empty() || host.peer == nullptr) return false;
  if (host.is_bundle) return host.capacity > 0;
  // A host with messages that are not on disk yet is passed over. If it were given a launch now, a
  // crash could leave it with two launches.
  return host.ready && host.owed == 0;
}

// Whether a host that runs nothing may be on another node or other devices than those that a trial
// is to get: an earlier controller started it.
bool Workforce::IsUnplaced(const Host& host) const {
  const bool somewhere = !IsSet(host.grant.node) && owner_.engine().cluster().nodes().size() > 1;
  return somewhere || (study().spec.demand.gpus > 0 && host.grant.devices.empty());
}

Workforce::Host* Workforce::IdleHost(const Grant& grant) {
  for (auto& [name, host] : hosts_) {
    if (!IsIdle(*host) || IsUnplaced(*host)) continue;
    const bool here = !IsSet(host->grant.node) || host->grant.node == grant.node;
    // The program of an elastic trial has as many threads as it had cores when it started.
    const bool elastic = study().spec.demand.most > 0;
    const bool as_wide = !elastic || host->grant.cpus == grant.cpus;
    if (here && as_wide && host->grant.devices == grant.devices) return host.get();
  }
  return nullptr;
}

Status Workforce::AssignTo(Host& host, const Trial& trial) {
  const wire::LaunchRef at{trial.id, trial.launch.id};
  SLUICE_TRY(site_.Claim(host.name, trial));
  host.members[at].carried = true;
  host.ready = false;
  host.grant = trial.launch.grant;
  if (std::exchange(host.speaker.base, 0) != 0) site_.Spoke(host.name, host.speaker);
  host.peer->link.Hold(at, trial.launch.seq);
  Tell(host, MakeAssign(study(), trial, site_.PlacesOf(at)));
  return {};
}

Status Workforce::SpawnHost(const Trial& trial) {
  const wire::LaunchRef at{trial.id, trial.launch.id};
  SLUICE_TRY(site_.Spawn(trial));
  Host& host = AddHost(WorkerName(at));
  host.members[at].carried = true;
  host.grant = trial.launch.grant;
  site_.WatchOutput(host.name);
  // The site does not announce output that came before the watch began, so it is read once here.
  site_.At(site_.Now(), [this, name = host.name] { OutputGrew(name); });
  return {};
}

void Workforce::CarryOut(const SetBudget& command) {
  const wire::LaunchRef at{command.trial.trial, command.launch};
  Host* host = Carrier(at);
  if (host == nullptr || !host->members[at].carried) return;
  wire::Budget budget{.at = at, .target = std::nullopt};
  if (command.target != kNoLimit) budget.target = command.target;
  Tell(*host, budget);
}

void Workforce::CarryOut(const StopLaunch& command) {
  const wire::LaunchRef at{command.trial.trial, command.launch};
  // A launch that still waits for a copy never starts.
  if (copies_.DropStart(at)) return Ended(at, Ending::kLost, "");
  Host* host = Carrier(at);
  if (host == nullptr) return;
  Member& member = host->members[at];
  if (!member.carried) {  // it never began
    host->members.erase(at);
    return Ended(at, Ending::kReleased, "");
  }
  const bool hears = host->peer != nullptr;
  const Trial& trial = *TrialOf(at);
  const bool silent = trial.launch.work == 0 && trial.launch.offset == 0;
  // Whether the worker will get the request: now, when it connects again, or when it connects for
  // the first time. It then has the grace period to save and to report. A launch that has said
  // nothing yet gets the grace period only for kPaused. For other reasons, nothing is lost by
  // ending it immediately.
  const bool comes =
      hears || host->speaker.speaks || (silent && command.reason == StopReason::kPaused);
  switch (command.reason) {
    case StopReason::kComplete:
      if (!hears && host->speaker.speaks) return;  // it is told when it connects again
      Tell(*host, wire::Stop{at, "complete"});
      // The launch was told to stop before, and still runs: its program does not speak the
      // protocol, or ignores the request.
      if (!std::exchange(member.told_complete, true)) return;
      return hears ? ForceLater(*host, at) : ForceOut(*host, at);
    case StopReason::kYield: return Tell(*host, wire::Pause{at});
    case StopReason::kPaused:
    case StopReason::kDrain: Tell(*host, wire::Pause{at}); break;
    case StopReason::kStopped: Tell(*host, wire::Stop{at, "stopped"}); break;
    case StopReason::kStudy: Tell(*host, wire::Stop{at, "study"}); break;
    case StopReason::kTimeout: return ForceOut(*host, at);
    case StopReason::kLease: return Signal(*host, Force::kKill);
  }
  if (comes) {
    ForceLater(*host, at);
  } else {
    ForceOut(*host, at);
  }
}

void Workforce::CarryOut(const CopyCheckpoint& command) {
  if (copies_.Hold(command)) return;
  copies_.Begin(command);
  site_.CopyCheckpoint(command.from, command.to, command.end,
                       [this, fork = TrialKey{command.study, command.to}](
                           const Site::CopyResult& copied) { Copied(fork, copied); });
}

// The commands that waited for the copy are carried out once the outcome of the copy is on disk.
// Otherwise the next controller might repeat the copy while the restarted parent writes to its
// checkpoint.
void Workforce::Copied(TrialKey fork, const Site::CopyResult& copied) {
  CheckpointCopied event{.trial = fork, .work = {}, .error = {}};
  if (copied) {
    event.work = *copied;
  } else {
    event.error = copied.error().message;
  }
  owner_.Happened(std::move(event), std::nullopt);
  owner_.DoInTurn([this, fork] {
    for (const Copies::Waiting& command : copies_.End(fork.trial))
      std::visit([this](const auto& each) { CarryOut(each); }, command);
  });
}

void Workforce::CarryOut(const Evict& command) {
  if (!copies_.Hold(command)) site_.RemoveCheckpoint(command.trial.trial);
}

void Workforce::Acknowledge(const Receipt& receipt, int count) {
  const auto found = hosts_.find(receipt.worker);
  if (found == hosts_.end()) return;
  Host& host = *found->second;
  host.owed -= count;
  // Messages of an earlier process of the launch need no acknowledgement any more. Until the
  // numbers of a new process are known, all that is due is for the earlier one.
  const bool of_earlier = host.renumbers && host.members.contains(receipt.at);
  if (!of_earlier && receipt.seq > host.speaker.base)
    Tell(host, wire::Ack{receipt.at, receipt.seq - host.speaker.base});
}

void Workforce::DismissIdle() {
  for (auto& [name, host] : hosts_) {
    if (host->members.empty() && !host->dismissed) Dismiss(*host);
  }
}

// Dismisses the idle workers on these devices: they were started for another width, and hold memory
// that is needed now.
void Workforce::DismissFrom(const Grant& grant) {
  if (study().spec.demand.most == 0) return;
  for (auto& [name, host] : hosts_) {
    if (!IsIdle(*host) || host->grant.node != grant.node) continue;
    const bool other_width = grant.devices.empty() && host->grant.cpus != grant.cpus;
    const bool shared =
        other_width || std::ranges::any_of(host->grant.devices, [&](DeviceId device) {
          return std::ranges::find(grant.devices, device) != grant.devices.end();
        });
    if (shared) Dismiss(*host);
  }
}

void Workforce::Dismiss(Host& host) {
  host.dismissed = true;
  Tell(host, wire::Exit{});
  EndLater(host);
}

void Workforce::KillAll() {
  killing_ = true;
  for (auto& [name, host] : hosts_) Signal(*host, Force::kKill);
  for (const wire::LaunchRef& at : copies_.DropStarts()) Ended(at, Ending::kLost, "");
}

void Workforce::Signal(Host& host, Force force) {
  host.dismissed = true;  // its launcher will end it, together with any further trial
  site_.Signal(host.name, force);
}

// Ends the host by force after the grace period, if it is still there.
void Workforce::EndLater(Host& host) {
  if (host.exit_timer != 0) return;
  host.exit_timer = site_.At(site_.Now() + study().spec.timeouts.grace, [this, name = host.name] {
    const auto found = hosts_.find(name);
    if (found == hosts_.end()) return;
    found->second->exit_timer = 0;
    Signal(*found->second, Force::kTerminate);
  });
}

// The launch was asked to leave. It is forced if it is still there after the grace period.
void Workforce::ForceLater(Host& host, wire::LaunchRef at) {
  Site::TimerId& timer = host.members[at].force_timer;
  if (timer != 0) return;
  timer = site_.At(site_.Now() + study().spec.timeouts.grace, [this, name = host.name, at] {
    const auto found = hosts_.find(name);
    if (found == hosts_.end() || !found->second->members.contains(at)) return;
    found->second->members[at].force_timer = 0;
    ForceOut(*found->second, at);
  });
}

void Workforce::HostEnded(const std::string& worker) {
  const auto found = hosts_.find(worker);
  SLUICE_CHECK(found != hosts_.end(), "an ended host is known");
  Host& host = *found->second;
  site_.Cancel(host.exit_timer);
  for (auto& [at, member] : host.members) site_.Cancel(member.force_timer);
  if (host.peer != nullptr) {
    const PeerId peer = host.peer->id;
    Detach(peer);
    site_.Close(peer);
  }
  const std::unique_ptr<Host> gone = std::move(found->second);
  hosts_.erase(found);
  HostOver(*gone);
}

// A process is gone. Takes in its last output and the messages that it could not deliver, and then
// how each launch that it carried ended.
void Workforce::HostOver(Host& gone) {
  ReadOutput(gone, /*at_end=*/true);
  for (const wire::LaunchRef& at : gone.Carried()) ReadSpool(gone, at, /*before=*/UINT64_MAX);
  std::vector<wire::LaunchRef> carried = gone.Carried();
  std::erase_if(carried, [this](const wire::LaunchRef& at) { return !IsRunning(at); });
  const int count = static_cast<int>(carried.size());
  for (const wire::LaunchRef& at : carried) {
    LaunchOver(gone, at, count);
    if (Planted("lost-member")) break;
  }
  TurnAway(gone);
}

// `carried`: how many launches the process carried when it ended.
void Workforce::LaunchOver(const Host& gone, wire::LaunchRef at, int carried) {
  const Trial* trial = TrialOf(at);
  const LaunchEnd end = site_.EndOf(at, gone.name);
  Ending ending = Ending::kLost;
  switch (end.kind) {
    case LaunchEnd::Kind::kDone: ending = Ending::kDone; break;
    case LaunchEnd::Kind::kPaused: ending = Ending::kPaused; break;
    case LaunchEnd::Kind::kCutShort:
      ending = carried > 1 || Planted("asked-complete") ? Ending::kDone : Ending::kPaused;
      break;
    case LaunchEnd::Kind::kFailed: ending = Ending::kFailed; break;
    case LaunchEnd::Kind::kLost: ending = Ending::kLost; break;
    case LaunchEnd::Kind::kNotStarted: ending = Ending::kNotStarted; break;
  }
  std::string reason = end.reason;
  // The end of the process says nothing about any one of the launches that it carried.
  const bool together = carried > 1 && (ending == Ending::kDone || ending == Ending::kFailed);
  if (together && !Planted("blamed-together")) {
    ending = Ending::kBundleLost;
    reason = fmt::format("the process of {} trials ended: {}", carried,
                         reason.empty() ? "exit code 0" : reason);
  }
  // The worker was idle and ended just as it was given the launch, so the launch never began.
  const bool unheard = gone.name != WorkerName(at) && trial->launch.seq == 0;
  if (ending == Ending::kDone && unheard && !Planted("never-begun")) ending = Ending::kLost;
  if (ending == Ending::kDone && trial->reports == 0 && !gone.other_numbers.empty())
    reason = fmt::format("it printed {}", fmt::join(gone.other_numbers, ", "));
  owner_.Happened(LaunchEnded{.trial = KeyOf(at),
                              .launch = at.launch,
                              .position = {},
                              .ending = ending,
                              .reason = std::move(reason),
                              .checkpoint_bytes = site_.CheckpointBytes(at.trial),
                              .checkpoint_work = site_.CheckpointWork(at.trial)},
                  std::nullopt);
}

// Takes in the messages that processes of a launch could not deliver. Only the conversations with a
// number below `before` count.
void Workforce::ReadSpool(Host& host, wire::LaunchRef at, std::uint64_t before) {
  if (before == 0 || Planted("lost-spool")) return;
  for (const std::string& line : site_.Spool(at)) {
    const auto message = wire::DecodeFromWorker(line);
    if (!message) continue;
    const wire::Numbered numbered = wire::NumberOf(*message);
    const bool is_before = wire::ConversationOf(numbered.seq) < before;
    if (numbered.at == at && is_before) Numbered(host, *message, /*live=*/false);
  }
}

std::vector<PeerId> Workforce::Newcomers() const {
  std::vector<PeerId> newcomers;
  for (const auto& [id, peer] : peers_) {
    if (peer->host == nullptr) newcomers.push_back(id);
  }
  return newcomers;
}

bool Workforce::IsNewcomer(PeerId peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second->host == nullptr;
}

PeerId Workforce::PeerBefore(std::string_view hello) const {
  const auto message = wire::DecodeFromWorker(hello);
  const auto* said = message ? std::get_if<wire::Hello>(&*message) : nullptr;
  return said == nullptr ? 0 : PeerOf(said->worker);
}

PeerId Workforce::PeerOf(const std::string& worker) const {
  const auto found = hosts_.find(worker);
  return found == hosts_.end() || found->second->peer == nullptr ? 0 : found->second->peer->id;
}

}  // namespace sluice
