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
#include "base/result.h"
#include "engine/command.h"
#include "engine/engine.h"
#include "engine/event.h"
#include "exec/connection.h"
#include "exec/event_loop.h"
#include "exec/launch_folder.h"
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

// What the executor tells and asks its controller. Events reach the engine at once and the disk in
// turn.
class ExecutorOwner {
 public:
  virtual ~ExecutorOwner() = default;
  virtual const Engine& engine() const = 0;
  virtual void Happened(EventBody body, std::optional<Receipt> receipt) = 0;
  // Nothing new, but to be acknowledged behind what is on its way to the disk.
  virtual void AcknowledgeInTurn(Receipt receipt) = 0;
  virtual void Asked(const wire::Ask& ask, std::function<void(const wire::Answer&)> answer) = 0;
};

// Runs the trials of one study as processes of this machine. Everything happens on the event loop's
// thread.
//
// A *host* is a process that was started for a launch, seen through its launcher. It carries that
// launch and, if it says it can (reuse), further ones after it. Hosts outlive this object: the next
// one adopts them.
class LocalExecutor {
 public:
  struct Options {
    StorePaths paths;
    std::string launcher;
    StudyId study{};
  };

  LocalExecutor(EventLoop& loop, ExecutorOwner& owner, Options options);
  ~LocalExecutor();

  // Opens the socket and finds out what became of the launches that ran under an earlier
  // controller.
  Status Open(const std::vector<wire::LaunchRef>& inherited);

  void CarryOut(const Start& command);
  void CarryOut(const SetBudget& command);
  void CarryOut(const StopLaunch& command);
  void CarryOut(const CopyCheckpoint& command);
  void CarryOut(const Evict& command);
  // Stands for so many receipts, of which this is the last.
  void Acknowledge(const Receipt& receipt, int count);

  // Sends idle hosts home.
  void DismissIdle();
  // Ends every host at once, and starts no other.
  void KillAll();
  // No process of ours is left.
  bool empty() const { return hosts_.empty(); }

 private:
  struct Host;
  struct Peer;

  const Study& study() const;
  const Trial* TrialOf(wire::LaunchRef at) const;
  TrialKey KeyOf(wire::LaunchRef at) const { return {options_.study, at.trial}; }

  // Hosts
  Host& AddHost(wire::LaunchRef started_for, int pidfd, bool child);
  Host* Carrier(wire::LaunchRef at);
  Host* FindOrAdoptHost(const std::string& worker);
  Host* IdleHost(const Grant& grant);
  Status SpawnHost(const Trial& trial);
  Status AssignTo(Host& host, const Trial& trial);
  void Adopt(wire::LaunchRef at);
  void HostEnded(const std::string& worker);
  void LaunchOver(Host& gone);
  void Dismiss(Host& host);
  void Signal(Host& host, int signal);
  void ForceLater(Host& host);

  // Standard output of programs that do not speak the protocol
  void WatchOutput(Host& host);
  void OutputChanged();
  void ReadOutput(Host& host, bool at_end);
  void OutputLine(Host& host, std::string_view line, std::uint64_t offset);

  // Workers that do
  void Accept();
  void HearNewcomers();
  void HearLine(std::uint64_t peer, std::string_view line);
  void PeerClosed(std::uint64_t peer);
  void Refuse(std::uint64_t peer, const std::string& reason);
  void Greeted(Peer& peer);
  void WorkerReady(Peer& peer);
  void Numbered(Host& host, const wire::FromWorker& message, bool live);
  void CheckLeases();

  EventLoop& loop_;
  ExecutorOwner& owner_;
  Options options_;
  TrialFolders folders_;
  int listener_ = -1;
  int inotify_ = -1;
  std::map<std::string, std::unique_ptr<Host>> hosts_;  // by worker name
  std::map<int, std::string> output_watches_;           // inotify's number to worker name
  std::map<std::uint64_t, std::unique_ptr<Peer>> peers_;
  std::uint64_t next_peer_ = 1;
  EventLoop::TimerId lease_timer_ = 0;
  EventLoop::TimerId accept_timer_ = 0;
  Time leases_checked_{};
  bool killing_ = false;
};

}  // namespace sluice
