#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "cluster/cluster.h"
#include "rig/fault_plan.h"
#include "rig/fault_worker.h"
#include "sim/timeline.h"

namespace sluice {

// Whoever listens at the controller's socket.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void Connected(PeerId peer) = 0;
  virtual void Heard(PeerId peer, std::string_view line) = 0;
  virtual void Closed(PeerId peer) = 0;
  virtual void OutputGrew(const std::string& worker) = 0;
  virtual void HostEnded(const std::string& worker) = 0;
};

// The machines of a world, whoever controls them: their processes and files, and the connections
// between processes and the controller. Lines are late, and connections break, as the plan has it:
// then what was on its way is lost, or comes late, and either side may learn of it before the other.
class FaultGround final : public WorkerWorld {
 public:
  struct Options {
    Random random;
    FaultPlan faults;
    ProgramTraits program;
    std::vector<Node> nodes;
    std::string study;
    bool coarse = false;  // values are
  };
  explicit FaultGround(Options options);

  // The controller that listens from now on, or nobody: then all its connections are gone.
  void SetListener(Listener* listener);
  // What must not happen on any machine, if it did.
  const std::string& problem() const { return problem_; }
  // From now on everything goes well.
  void Heal();

  // For the controller.
  Status Spawn(const std::string& worker, const Grant& grant, const wire::Assign& assign);
  FaultWorker* FindWorker(const std::string& worker);  // that lives, as far as one can see
  void Send(PeerId peer, std::string line);            // to the other end
  void Close(PeerId peer);
  bool RefusesProcess() { return random_.Chance(options_.faults.spawn_fails); }
  // The process at the other end of a connection, if it is of this worker.
  std::optional<Speaker> CallerOf(PeerId peer, const std::string& worker) const;
  bool Lives(const Speaker& speaker) const;
  // Whether the process that carries a launch has given no reason to give it up.
  bool SpeaksFor(wire::LaunchRef at) const;

  // A connection of the command line; the answer is handed to it, if it waits for one.
  void Ask(const wire::Ask& ask, bool waits, std::function<void(const wire::Answer&)> answer);
  // One of a process that says this, hangs up a while later, and is no worker. It may be a child of
  // the one that it names.
  void Knock(const std::vector<wire::FromWorker>& words, const std::string& parent);
  std::vector<FaultWorker*> Reachable();  // those that a controller could find

  // Nodes. One that is lost takes its processes with it, in silence: whoever finds out asks for their
  // names.
  void LoseNode(std::size_t index);
  // Nobody reaches it any more; its processes go on.
  void CutOffNode(std::size_t index);
  // What was started there before must not go on unseen: of those that went on, who speaks is heard
  // and refused, and the others are ended.
  void BringBackNode(std::size_t index);
  const std::vector<Node>& nodes() const { return options_.nodes; }
  const ProgramTraits& program() const { return options_.program; }
  std::vector<std::string> Living() const;  // workers, for people
  std::vector<std::string> TakeLost() { return std::exchange(lost_, {}); }
  // Reports that were acknowledged to workers.
  std::vector<std::pair<TrialId, Work>> TakeAcknowledged() {
    return std::exchange(acknowledged_, {});
  }

  Timeline& timeline() override { return timeline_; }
  const FaultPlan& faults() const override { return options_.faults; }
  LaunchFiles& FilesOf(wire::LaunchRef at) override { return launches_[at]; }
  HostFiles& HostFilesOf(const std::string& worker) override { return hosts_[worker]; }
  Checkpoint& CheckpointOf(TrialId trial) override { return checkpoints_[trial]; }
  double ValueAt(TrialId trial, Work work) override;
  bool Connect(FaultWorker& worker) override;
  void Disconnect(FaultWorker& worker) override;
  void Send(FaultWorker& worker, std::string line) override;
  void Printed(FaultWorker& worker) override;
  void Acknowledged(TrialId trial, Work work) override { acknowledged_.emplace_back(trial, work); }
  void Exited(FaultWorker& worker) override;

  const std::map<wire::LaunchRef, LaunchFiles>& launches() const { return launches_; }

 private:
  void Say(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  struct Link {
    FaultWorker* worker = nullptr;  // or of somebody else
    Speaker speaker;                // the process that made it,
    std::string parent;             // which is this worker, or was started by it
    std::function<void(const wire::Answer&)> answer;
    bool up = true;    // lines reach the controller
    bool down = true;  // lines reach the worker
    Time last_up{};    // when the last line that is on its way arrives
    Time last_down{};
  };

  const Node& NodeOf(const FaultWorker& worker) const;
  Duration Latency();
  PeerId AddLink(Link link);
  void SendUp(PeerId peer, std::string line);
  void HangUp(PeerId peer);
  void MaybeCut(PeerId peer);
  void Cut(PeerId peer);
  // Later, in the order of what is on its way.
  void Later(Time& last, std::function<void()> what);
  PeerId LinkOf(const FaultWorker& worker) const;

  Options options_;
  Random random_;
  Timeline timeline_;
  Listener* listener_ = nullptr;
  std::uint64_t life_ = 0;  // of the listener
  std::map<PeerId, Link> links_;
  PeerId next_peer_ = 1;
  std::int64_t next_stranger_ = 1 << 23;
  std::map<wire::LaunchRef, LaunchFiles> launches_;
  std::map<std::string, HostFiles> hosts_;
  std::map<TrialId, Checkpoint> checkpoints_;
  std::map<std::string, FaultWorker*> living_;
  std::vector<std::string> lost_;
  std::vector<std::pair<TrialId, Work>> acknowledged_;
  std::string problem_;
  std::vector<std::unique_ptr<FaultWorker>> workers_;  // all there ever were
};

}  // namespace sluice
