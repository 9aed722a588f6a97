#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "control/copies.h"
#include "control/site.h"
#include "engine/command.h"
#include "engine/engine.h"
#include "engine/event.h"
#include "wire/message.h"
#include "wire/worker_link.h"

namespace sluice {

using EventBody = decltype(Event::body);

// A message that is to be acknowledged once what it says is on disk.
struct Receipt {
  std::string worker;
  wire::LaunchRef at;
  std::uint64_t seq = 0;
};

// What a workforce tells and asks its controller. An event reaches the engine immediately, and the
// disk with the next batch.
class WorkforceOwner {
 public:
  virtual ~WorkforceOwner() = default;
  virtual const Engine& engine() const = 0;
  virtual void Happened(EventBody body, std::optional<Receipt> receipt) = 0;
  // Acknowledges a message that says nothing new, once the events so far are on disk.
  virtual void AcknowledgeInTurn(Receipt receipt) = 0;
  // These carry out a command, or an act, that depends on the events so far, once those events are
  // on disk.
  virtual void CarryOutInTurn(Command command) = 0;
  virtual void DoInTurn(std::function<void()> act) = 0;
  virtual void Asked(const wire::Ask& ask, std::function<void(const wire::Answer&)> answer) = 0;
};

// The processes that run the trials of one study, and what they say. Commands of the engine become
// messages and signals to workers; messages of workers become events. The workforce touches the
// world only through the site, so that the same code handles simulated workers and real ones. Only
// one thread may use it.
//
// A *host* is a process that was started for a launch. It carries that launch and, if it says that
// it can, further launches: after the first (reuse), or beside it (capacity). The launches of a
// bundle are the *members* of one host. A launch that joins a bundle finds the host through the
// launches that the host carries, not through the number of the bundle, since that number is used
// again later. A host outlives this object: the workforce of the next controller adopts it.
class Workforce {
 public:
  Workforce(Site& site, WorkforceOwner& owner, StudyId study);
  ~Workforce();

  // Finds out what became of the launches that ran under an earlier controller, and begins to watch
  // leases. To be called before any worker connects.
  void Open(const std::vector<wire::LaunchRef>& inherited);

  void CarryOut(const Start& command);
  void CarryOut(const SetBudget& command);
  void CarryOut(const StopLaunch& command);
  void CarryOut(const CopyCheckpoint& command);
  void CarryOut(const Evict& command);
  // Acknowledges `count` receipts, of which this one is the last.
  void Acknowledge(const Receipt& receipt, int count);

  // Tells idle hosts to exit.
  void DismissIdle();
  // Kills every host immediately, and starts no other until StartAgain.
  void KillAll();
  void StartAgain() { killing_ = false; }
  // Whether no host is left.
  bool empty() const { return hosts_.empty(); }

  // What the site calls.
  void Connected(PeerId peer);
  void Heard(PeerId peer, std::string_view line);
  void Closed(PeerId peer);  // by the other side
  void OutputGrew(const std::string& worker);
  void HostEnded(const std::string& worker);

  // The connections that do not belong to a host yet.
  std::vector<PeerId> Newcomers() const;
  bool IsNewcomer(PeerId peer) const;
  // The connection of a host, or 0.
  PeerId PeerOf(const std::string& worker) const;
  // The earlier connection of the host whose worker says this hello, or 0. The lines on that
  // connection were sent before the hello.
  PeerId PeerBefore(std::string_view hello) const;

 private:
  struct Host;
  struct Member;
  struct Peer;

  const Study& study() const;
  const Trial* TrialOf(wire::LaunchRef at) const;
  bool IsRunning(wire::LaunchRef at) const;
  TrialKey KeyOf(wire::LaunchRef at) const { return {study_, at.trial}; }
  void Tell(Host& host, const wire::ToWorker& message);

  // Hosts
  Host& AddHost(const std::string& worker);
  Host* Carrier(wire::LaunchRef at);
  Host* FindOrReachHost(const std::string& worker);
  static bool IsIdle(const Host& host);
  bool IsUnplaced(const Host& host) const;
  Host* IdleHost(const Grant& grant);
  Status SpawnHost(const Trial& trial);
  Status AssignTo(Host& host, const Trial& trial);
  void Adopt(const Inherited& found, const std::vector<wire::LaunchRef>& launches);
  void AdoptRunning(const std::string& worker, const std::vector<wire::LaunchRef>& launches);
  void AdoptGone(const std::string& worker, const std::vector<wire::LaunchRef>& launches);
  void TakeOver(Host& host, wire::LaunchRef at);
  void Ended(wire::LaunchRef at, Ending ending, std::string reason);
  void HostOver(Host& gone);
  void LaunchOver(const Host& gone, wire::LaunchRef at, int carried);
  void Dismiss(Host& host);
  void DismissFrom(const Grant& grant);
  void DismissIfUnplaced(Host& host);
  void Signal(Host& host, Force force);
  void EndLater(Host& host);
  void ForceLater(Host& host, wire::LaunchRef at);
  void ForceOut(Host& host, wire::LaunchRef at);

  // Bundles
  Host* BundleHost(const Trial& trial);
  void Join(Host& host, wire::LaunchRef at);
  void LetIn(Host& host);
  void TurnAway(Host& host);
  void TakesOne(Host& host);
  void TellCapacity(const Host& host);
  void CapacityChanged(Host& host, int capacity);
  void EndIfOnlyHung(Host& host);
  void GreetBundle(Peer& peer, Host& host);
  void Welcomed(Peer& peer, Host& host);
  void RefuseLaunchInTurn(Peer& peer, wire::LaunchRef at);
  void Left(Host& host, wire::LaunchRef at);
  void Copied(TrialKey fork, const Site::CopyResult& copied);

  // Standard output of programs that do not speak the protocol
  void ReadOutput(Host& host, bool at_end);
  Work WorkInOutput(const Host& host, std::uint64_t until);
  void OutputLine(Host& host, std::string_view line, std::uint64_t offset);

  // Workers that speak the protocol
  void Detach(PeerId peer);
  void Refuse(PeerId peer, const std::string& reason);
  void RefuseInTurn(Peer& peer, std::string reason);
  void TellMissed(const Trial& trial);
  void Greeted(Peer& peer);
  bool Attach(Peer& peer, Host& host);
  void WorkerReady(Peer& peer, Host& host);
  void Renumber(Host& host, wire::FromWorker& message);
  void ReadSpool(Host& host, wire::LaunchRef at, std::uint64_t before);
  void Numbered(Host& host, const wire::FromWorker& message, bool live);
  void CheckLeases();

  Site& site_;
  WorkforceOwner& owner_;
  StudyId study_;
  std::map<std::string, std::unique_ptr<Host>> hosts_;  // by worker name
  std::map<PeerId, std::unique_ptr<Peer>> peers_;
  Copies copies_;
  Site::TimerId lease_timer_ = 0;
  Time leases_checked_{};
  bool killing_ = false;
};

}  // namespace sluice
