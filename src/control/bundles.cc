// Hosts that carry several launches at once: how launches join them, are handed back and leave.

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/planted.h"
#include "control/assignment.h"
#include "control/host.h"

namespace sluice {

// The host that carries other launches of the trial's bundle, if there is one.
Workforce::Host* Workforce::BundleHost(const Trial& trial) {
  const Grant& grant = trial.launch.grant;
  if (!IsSet(grant.bundle)) return nullptr;
  if (Planted("joined-by-number")) {
    const auto found = std::ranges::find_if(
        hosts_, [&](const auto& each) { return each.second->grant.bundle == grant.bundle; });
    return found == hosts_.end() ? nullptr : found->second.get();
  }
  for (const TrialId id : study().running) {
    const Trial& other = study().trial(id);
    if (id == trial.id || other.launch.grant.bundle != grant.bundle) continue;
    if (Host* host = Carrier({id, other.launch.id})) return host;
  }
  return nullptr;
}

// The launch waits until the host's worker is connected, and carries no launch that was given up.
// It is then given to the worker if there is room, and is handed back otherwise. It is handed back
// too if the host ends first.
void Workforce::Join(Host& host, wire::LaunchRef at) {
  host.members[at] = {};
  if (host.is_bundle) return LetIn(host);
  if (host.capacity == 1) TurnAway(host);
}

// Gives waiting launches to the worker, as many as it has room for. Hands back the others.
void Workforce::LetIn(Host& host) {
  if (host.peer == nullptr || host.dismissed || !host.to_drop.empty()) return;
  std::size_t carried = host.Carried().size();
  for (const wire::LaunchRef& at : host.Waiting()) {
    if (!IsRunning(at)) {
      host.members.erase(at);
    } else if (carried < static_cast<std::size_t>(host.capacity) || Planted("past-capacity")) {
      ++carried;
      // While this launch waited, an earlier launch of the trial may have saved again.
      if (TrialOf(at)->evicted) site_.RemoveCheckpoint(at.trial);
      if (const Status given = AssignTo(host, *TrialOf(at)); !given) {
        host.members.erase(at);
        Ended(at, Ending::kNotStarted, given.error().message);
      }
    }
  }
  TurnAway(host);
}

// Hands back the launches that the host has no room for.
void Workforce::TurnAway(Host& host) {
  for (const wire::LaunchRef& at : host.Waiting()) {
    host.members.erase(at);
    Ended(at, Ending::kReleased, "");
  }
}

// Records that the program takes one trial at a time: it speaks version 1, or prints its results.
void Workforce::TakesOne(Host& host) {
  if (host.capacity == 1) return;
  host.capacity = 1;
  TellCapacity(host);
  TurnAway(host);
}

// Tells the engine how many launches the host's process takes. Does nothing if the engine knows
// this already, if the host carries no running launch, or if the study has no bundles.
void Workforce::TellCapacity(const Host& host) {
  if (study().spec.demand.fused_most <= 1) return;
  for (const wire::LaunchRef& at : host.Carried()) {
    if (!IsRunning(at)) continue;
    const bool known = TrialOf(at)->launch.capacity == std::max(host.capacity, 1) &&
                       (host.several_shapes || !study().several_shapes) && study().capacity > 0;
    if (!known) {
      owner_.Happened(CapacityTold{KeyOf(at), at.launch, host.capacity, host.several_shapes},
                      std::nullopt);
    }
    return;
  }
}

void Workforce::CapacityChanged(Host& host, int capacity) {
  host.capacity = capacity;
  TellCapacity(host);
  LetIn(host);
}

// A worker of version 2 has connected. Each launch that it carries is dealt with by itself.
void Workforce::GreetBundle(Peer& peer, Host& host) {
  const wire::Hello& hello = peer.link.hello();
  host.is_bundle = true;
  host.capacity = hello.capacity;
  host.several_shapes = hello.several_shapes;
  for (const wire::LaunchRef& at : hello.ended) {
    // The worker sends the end of this launch again. If it is still the trial's latest launch, the
    // end is received, even if it is on disk already. Otherwise the worker is told to forget the
    // launch, once the events so far are on disk.
    if (const Trial* trial = TrialOf(at)) {
      peer.link.Hold(at, trial->launch.seq);
    } else {
      RefuseLaunchInTurn(peer, at);
    }
  }
  for (const wire::LaunchRef& at : hello.launches) {
    const auto member = host.members.find(at);
    if (!IsRunning(at) || member == host.members.end()) {
      host.to_drop.insert(at);
      RefuseLaunchInTurn(peer, at);
      continue;
    }
    member->second.carried = true;
    peer.link.Hold(at, TrialOf(at)->launch.seq);
    TellMissed(*TrialOf(at));
  }
  if (host.to_drop.empty()) Welcomed(peer, host);
}

// Called when a worker of version 2 carries no launch that was given up. From now on it can be
// given further launches.
void Workforce::Welcomed(Peer& peer, Host& host) {
  const wire::Hello& hello = peer.link.hello();
  const auto knows = [&](const std::vector<wire::LaunchRef>& named, wire::LaunchRef at) {
    return std::ranges::find(named, at) != named.end();
  };
  // The worker was given these launches on a connection that broke before it heard of them, or its
  // process has replaced one that had them. The earlier process may have left the end of a launch
  // in the spool. Such a launch must not be given again.
  for (const wire::LaunchRef& at : host.Carried()) {
    if (knows(hello.launches, at) || knows(hello.ended, at) || !IsRunning(at)) continue;
    ReadSpool(host, at, /*before=*/UINT64_MAX);
    if (!IsRunning(at)) continue;
    peer.link.Hold(at, TrialOf(at)->launch.seq);
    site_.Send(peer.id, MakeAssign(study(), *TrialOf(at), site_.PlacesOf(at)));
    TellMissed(*TrialOf(at));
  }
  TellCapacity(host);
  LetIn(host);
  TellCapacity(host);  // if it carried nothing until now
  if (host.members.empty() && !host.dismissed) DismissIfUnplaced(host);
}

// Refuses one launch of a worker once the events so far are on disk, as RefuseInTurn does.
void Workforce::RefuseLaunchInTurn(Peer& peer, wire::LaunchRef at) {
  peer.link.Drop(at);
  owner_.DoInTurn([this, id = peer.id, at] {
    const auto found = peers_.find(id);
    if (found == peers_.end()) return;
    site_.Send(id, wire::Refuse{.reason = "the launch was given up", .at = at});
    Host* const host = found->second->host;
    if (host == nullptr || host->to_drop.erase(at) == 0) return;
    if (host->to_drop.empty()) Welcomed(*found->second, *host);
  });
}

// A launch has left its host, and the host goes on.
void Workforce::Left(Host& host, wire::LaunchRef at) {
  const auto member = host.members.find(at);
  if (member == host.members.end()) return;
  site_.Cancel(member->second.force_timer);
  host.members.erase(member);
  if (host.is_bundle && host.peer != nullptr) host.peer->link.Release(at);
  EndIfOnlyHung(host);
}

// A launch of the host is to be ended by force. The host's other launches are asked to leave first.
void Workforce::ForceOut(Host& host, wire::LaunchRef at) {
  const auto member = host.members.find(at);
  if (member == host.members.end()) return;
  member->second.hung = true;
  if (host.Carried().size() <= 1 || Planted("killed-neighbours"))
    return Signal(host, Force::kTerminate);
  host.dismissed = true;
  owner_.Happened(LaunchHung{KeyOf(at), at.launch}, std::nullopt);
  TurnAway(host);
  EndLater(host);
}

void Workforce::EndIfOnlyHung(Host& host) {
  const auto carried = host.Carried();
  if (carried.empty() && host.dismissed && host.is_bundle) Tell(host, wire::Exit{});
  const auto is_hung = [&](const wire::LaunchRef& at) { return host.members[at].hung; };
  if (!carried.empty() && std::ranges::all_of(carried, is_hung)) Signal(host, Force::kTerminate);
}

}  // namespace sluice
