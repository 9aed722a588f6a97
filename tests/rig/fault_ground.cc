#include "rig/fault_ground.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace sluice {

FaultGround::FaultGround(Options options)
    : options_(std::move(options)),
      random_(options_.random.Fork("ground")),
      copy_random_(options_.random.Fork("copies")) {}

void FaultGround::SetListener(Listener* listener) {
  listener_ = listener;
  ++life_;
  std::vector<FaultWorker*> alone;
  for (auto& [peer, link] : std::exchange(links_, {})) {
    if (link.worker != nullptr && link.down) alone.push_back(link.worker);
  }
  for (FaultWorker* worker : alone) worker->Closed();
}

void FaultGround::Heal() {
  options_.faults = FaultPlan{};
  for (std::size_t i = 0; i < options_.nodes.size(); ++i) BringBackNode(i);
}

Duration FaultGround::Latency() {
  const auto most = static_cast<std::uint64_t>(options_.faults.latency.count());
  return Duration(static_cast<std::int64_t>(1 + random_.Below(std::max<std::uint64_t>(1, most))));
}

void FaultGround::Later(Time& last, std::function<void()> what) {
  last = std::max(last, options_.timeline.now() + Latency());
  options_.timeline.At(last, [this, life = life_, what = std::move(what)] {
    if (life == life_) what();
  });
}

Status FaultGround::Spawn(const std::string& worker, const Grant& grant,
                          const wire::Assign& assign) {
  if (living_.contains(worker)) Say("a launch was started twice");
  if (RefusesProcess()) return Unavailable("cannot start the program");
  workers_.push_back(std::make_unique<FaultWorker>(*this, worker, options_.program, grant,
                                                   random_.Fork(workers_.size())));
  FaultWorker& added = *workers_.back();
  HostFilesOf(worker) = {};
  FilesOf(assign.at) = LaunchFiles();
  FilesOf(assign.at).claim = worker;
  OwnerOf(assign.at.trial) = assign.at.launch;
  // The node is gone, and the controller does not know it yet: nothing starts.
  if (!options_.nodes[Number(grant.node) - 1].up) {
    lost_.push_back(worker);
    return {};
  }
  living_[worker] = &added;
  added.Start(assign);
  return {};
}

void FaultGround::Begins(const FaultWorker& worker, wire::LaunchRef at) {
  for (const auto& [name, other] : living_) {
    if (other == &worker || other->zombie() || worker.zombie()) continue;
    const std::vector<wire::LaunchRef> trained = other->Trains();
    if (std::ranges::find(trained, at.trial, &wire::LaunchRef::trial) != trained.end())
      Say(fmt::format("trial {} runs in two processes", Number(at.trial)));
  }
}

FaultWorker* FaultGround::FindWorker(const std::string& worker) {
  const auto found = living_.find(worker);
  return found == living_.end() || !NodeOf(*found->second).up ? nullptr : found->second;
}

const Node& FaultGround::NodeOf(const FaultWorker& worker) const {
  return options_.nodes[Number(worker.grant().node) - 1];
}

// A trial's value at this work. With more work the value falls, to a level that differs between
// trials. One in twenty trials diverges. In some worlds values are so coarse that many are equal.
double FaultGround::ValueAt(TrialId trial, Work work) {
  Random own = options_.random.Fork("curve").Fork(Number(trial));
  const double level = own.Uniform();
  const double fall = own.Uniform();
  const bool diverges = own.Chance(0.05);
  const std::uint64_t how = own.Below(4);
  if (diverges && static_cast<std::uint64_t>(work) > how) {
    const double infinity = std::numeric_limits<double>::infinity();
    return how > 1 ? std::numeric_limits<double>::quiet_NaN() : how == 1 ? infinity : -infinity;
  }
  const double noise = 0.05 * own.Fork(static_cast<std::uint64_t>(work)).Uniform();
  const double value = level + fall / static_cast<double>(work + 1) + noise;
  return options_.coarse ? std::round(value * 8) / 8 : value;
}

PeerId FaultGround::AddLink(Link link) {
  const PeerId peer = next_peer_++;
  links_[peer] = std::move(link);
  Later(links_[peer].last_up, [this, peer] { listener_->Connected(peer); });
  return peer;
}

bool FaultGround::Connect(FaultWorker& worker) {
  if (listener_ == nullptr || !NodeOf(worker).up) return false;
  Link link;
  link.worker = &worker;
  link.speaker = worker.speaker();
  link.parent = worker.name();
  AddLink(std::move(link));
  return true;
}

PeerId FaultGround::LinkOf(const FaultWorker& worker) const {
  for (const auto& [peer, link] : links_) {
    if (link.worker == &worker && link.down) return peer;
  }
  return 0;
}

// The worker's side is closed; what it has sent still arrives.
void FaultGround::Disconnect(FaultWorker& worker) {
  const PeerId peer = LinkOf(worker);
  if (peer == 0) return;
  HangUp(peer);
}

void FaultGround::HangUp(PeerId peer) {
  Link& link = links_[peer];
  link.down = false;
  Later(link.last_up, [this, peer] {
    if (links_.erase(peer) > 0) listener_->Closed(peer);
  });
}

void FaultGround::Send(FaultWorker& worker, std::string line) {
  const PeerId peer = LinkOf(worker);
  if (peer != 0) SendUp(peer, std::move(line));
}

void FaultGround::SendUp(PeerId peer, std::string line) {
  Later(links_[peer].last_up, [this, peer, line = std::move(line)] {
    const auto found = links_.find(peer);
    if (found != links_.end() && found->second.up) listener_->Heard(peer, line);
  });
  MaybeCut(peer);
}

void FaultGround::Send(PeerId peer, std::string line) {
  const auto found = links_.find(peer);
  if (found == links_.end()) return;
  Later(found->second.last_down, [this, peer, line = std::move(line)] {
    const auto link = links_.find(peer);
    if (link == links_.end() || !link->second.down) return;
    if (link->second.worker != nullptr) return link->second.worker->Hear(line);
    const auto message = wire::DecodeToWorker(line);
    SLUICE_CHECK(message.has_value(), "a controller speaks the protocol");
    if (const auto* answer = std::get_if<wire::Answer>(&*message)) link->second.answer(*answer);
  });
  MaybeCut(peer);
}

// The controller closes the connection; what it sent before still arrives.
void FaultGround::Close(PeerId peer) {
  const auto found = links_.find(peer);
  if (found == links_.end()) return;
  found->second.up = false;
  Later(found->second.last_down, [this, peer] {
    const auto link = links_.find(peer);
    if (link == links_.end()) return;
    FaultWorker* worker = link->second.down ? link->second.worker : nullptr;
    links_.erase(link);
    if (worker != nullptr) worker->Closed();
  });
}

void FaultGround::MaybeCut(PeerId peer) {
  if (links_[peer].worker != nullptr && random_.Chance(options_.faults.cut)) Cut(peer);
}

void FaultGround::Cut(PeerId peer) {
  Link& link = links_[peer];
  if (!link.down) return;
  FaultWorker* worker = link.worker;
  link.down = false;
  if (random_.Chance(0.5)) link.up = false;  // else what is on its way arrives, perhaps late
  // The controller may learn of the break long after the worker has connected again.
  link.last_up =
      std::max(link.last_up, options_.timeline.now() +
                                 Duration(static_cast<std::int64_t>(random_.Below(3'000'000))));
  Later(link.last_up, [this, peer] {
    if (links_.erase(peer) > 0) listener_->Closed(peer);
  });
  if (worker != nullptr) worker->Closed();
}

void FaultGround::Printed(FaultWorker& worker) {
  if (listener_ == nullptr) return;
  Time soon{};
  Later(soon, [this, name = worker.name()] {
    if (living_.contains(name)) listener_->OutputGrew(name);
  });
}

void FaultGround::Exited(FaultWorker& worker) {
  living_.erase(worker.name());
  if (listener_ == nullptr) return;
  // The end reaches the controller after all lines that the worker has sent.
  Time last{};
  for (auto& [peer, link] : links_) {
    if (link.worker == &worker && link.up) last = std::max(last, link.last_up);
  }
  Later(last, [this, name = worker.name()] { listener_->HostEnded(name); });
}

void FaultGround::Ask(const wire::Ask& ask, bool waits,
                      std::function<void(const wire::Answer&)> answer) {
  if (listener_ == nullptr) return;
  Link link;
  link.answer = std::move(answer);
  const PeerId peer = AddLink(std::move(link));
  SendUp(peer, wire::Encode(wire::FromWorker(ask)));
  if (!waits) HangUp(peer);
}

std::optional<Speaker> FaultGround::CallerOf(PeerId peer, const std::string& worker) const {
  const auto found = links_.find(peer);
  if (found == links_.end()) return std::nullopt;
  return found->second.parent == worker ? std::optional(found->second.speaker) : std::nullopt;
}

bool FaultGround::Lives(const Speaker& speaker) const {
  return std::ranges::any_of(
             living_, [&](const auto& each) { return each.second->speaker().Is(speaker); }) ||
         std::ranges::any_of(links_, [&](const auto& each) {
           const Link& link = each.second;
           return link.worker == nullptr && link.speaker.Is(speaker);
         });
}

bool FaultGround::Trains(TrialId trial) const {
  return std::ranges::any_of(living_, [&](const auto& each) {
    const std::vector<wire::LaunchRef> trained = each.second->Trains();
    return !each.second->zombie() &&
           std::ranges::find(trained, trial, &wire::LaunchRef::trial) != trained.end();
  });
}

Duration FaultGround::CopyTime() {
  const auto most = static_cast<std::uint64_t>(options_.faults.copy.count());
  return Duration(static_cast<std::int64_t>(1 + copy_random_.Below(most)));
}

bool FaultGround::SpeaksFor(wire::LaunchRef at) const {
  return std::ranges::any_of(living_, [&](const auto& each) {
    const FaultWorker& worker = *each.second;
    const std::vector<wire::LaunchRef> carried = worker.Carries();
    return std::ranges::find(carried, at) != carried.end() && worker.Speaks() && !worker.zombie();
  });
}

void FaultGround::Knock(const std::vector<wire::FromWorker>& words, const std::string& parent) {
  if (listener_ == nullptr) return;
  Link link;
  link.speaker = {.speaks = true, .pid = next_stranger_++};
  link.parent = parent;
  const PeerId peer = AddLink(std::move(link));
  for (const wire::FromWorker& word : words) SendUp(peer, wire::Encode(word));
  options_.timeline.After(Duration(static_cast<std::int64_t>(random_.Below(5'000'000))),
                          [this, peer, life = life_] {
                            if (life == life_ && links_.contains(peer)) HangUp(peer);
                          });
}

std::vector<FaultWorker*> FaultGround::Reachable() {
  std::vector<FaultWorker*> found;
  for (auto& [name, worker] : living_) {
    if (NodeOf(*worker).up) found.push_back(worker);
  }
  return found;
}

std::vector<std::string> FaultGround::Living() const {
  std::vector<std::string> lines;
  for (const auto& [name, worker] : living_) lines.push_back(worker->Describe());
  return lines;
}

void FaultGround::CutOffNode(std::size_t index) {
  options_.nodes[index].up = false;
  const auto node = NodeId(index + 1);
  std::vector<FaultWorker*> alone;
  for (auto& [name, worker] : living_) {
    if (worker->grant().node != node) continue;
    worker->BecomeZombie();
    lost_.push_back(name);
    for (auto& [peer, link] : links_) {
      if (link.worker != worker) continue;
      if (link.down) alone.push_back(worker);
      link.up = link.down = false;
    }
  }
  for (FaultWorker* worker : alone) worker->Closed();
}

void FaultGround::BringBackNode(std::size_t index) {
  if (options_.nodes[index].up) return;
  options_.nodes[index].up = true;
  std::vector<FaultWorker*> mute;
  for (auto& [name, worker] : living_) {
    if (worker->grant().node == NodeId(index + 1) && !options_.program.speaks)
      mute.push_back(worker);
  }
  for (FaultWorker* worker : mute) worker->Signal(Force::kKill);
}

void FaultGround::LoseNode(std::size_t index) {
  options_.nodes[index].up = false;
  const auto node = NodeId(index + 1);
  for (auto& [name, worker] : living_) {
    if (worker->grant().node != node) continue;
    worker->Freeze();
    for (auto& [peer, link] : links_) {
      if (link.worker == worker) link.up = link.down = false;
    }
    lost_.push_back(name);
  }
  for (const std::string& name : lost_) living_.erase(name);
}

}  // namespace sluice
