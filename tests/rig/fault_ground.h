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

// What is reported to a controller: connections and lines at its socket, new output of workers, and
// the ends of workers.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void Connected(PeerId peer) = 0;
  virtual void Heard(PeerId peer, std::string_view line) = 0;
  virtual void Closed(PeerId peer) = 0;
  virtual void OutputGrew(const std::string& worker) = 0;
  virtual void HostEnded(const std::string& worker) = 0;
};

// What a study has on the machines of a world: processes, files, and the connections between its
// processes and the controller. All this outlives the controllers. Lines are delayed and
// connections break as the fault plan says. Lines on their way over a broken connection are lost,
// or arrive late. Either side may learn of the break before the other.
class FaultGround final : public WorkerWorld {
 public:
  struct Options {
    Timeline& timeline;
    Random random;
    FaultPlan faults;
    ProgramTraits program;
    std::vector<Node> nodes;
    bool coarse = false;  // values are rounded, so that many are the same
  };
  explicit FaultGround(Options options);

  // Sets the controller that listens from now on, or none. All earlier connections are gone.
  void SetListener(Listener* listener);
  // The first forbidden thing that happened on a machine; empty: none.
  const std::string& problem() const { return problem_; }
  // From now on nothing goes wrong.
  void Heal();

  // For the controller.
  Status Spawn(const std::string& worker, const Grant& grant, const wire::Assign& assign);
  // The worker, if it lives and its node is up; else nullptr.
  FaultWorker* FindWorker(const std::string& worker);
  void Send(PeerId peer, std::string line);  // to the other end
  void Close(PeerId peer);
  bool RefusesProcess() { return random_.Chance(options_.faults.spawn_fails); }
  // The process at the other end of a connection, if it belongs to this worker.
  std::optional<Speaker> CallerOf(PeerId peer, const std::string& worker) const;
  bool Lives(const Speaker& speaker) const;
  // Whether this trial is trained by a process that the controller has not given up.
  bool Trains(TrialId trial) const;
  Duration CopyTime();  // of a checkpoint
  // Whether a living process carries the launch and has been connected for a whole lease. The
  // controller must not take such a launch for silent.
  bool SpeaksFor(wire::LaunchRef at) const;

  // Asks over a connection of the command line. If `waits` is set, `answer` is called with the
  // answer. Otherwise the connection is closed after the question.
  void Ask(const wire::Ask& ask, bool waits, std::function<void(const wire::Answer&)> answer);
  // Connects a process that is no worker. The process sends these messages, and closes the
  // connection a while later. `parent` is the worker that it is a child of; empty: none.
  void Knock(const std::vector<wire::FromWorker>& words, const std::string& parent);
  std::vector<FaultWorker*> Reachable();  // workers that a controller could find

  // A lost node takes its processes with it, and nothing tells the controller. TakeLost has the
  // names of the workers.
  void LoseNode(std::size_t index);
  // The node cannot be reached any more; its processes continue to run.
  void CutOffNode(std::size_t index);
  // The node is back. Processes that continued to run there must not stay unnoticed. The controller
  // hears and refuses those that speak the protocol. The others are killed here.
  void BringBackNode(std::size_t index);
  const std::vector<Node>& nodes() const { return options_.nodes; }
  const ProgramTraits& program() const { return options_.program; }
  std::vector<std::string> Living() const;  // descriptions of workers, for people
  std::vector<std::string> TakeLost() { return std::exchange(lost_, {}); }
  // Reports that were acknowledged to workers.
  std::vector<std::pair<TrialId, Work>> TakeAcknowledged() {
    return std::exchange(acknowledged_, {});
  }

  Timeline& timeline() override { return options_.timeline; }
  const FaultPlan& faults() const override { return options_.faults; }
  void SetFault(double FaultPlan::* fault, double chance) { options_.faults.*fault = chance; }
  LaunchFiles& FilesOf(wire::LaunchRef at) override { return launches_[at]; }
  HostFiles& HostFilesOf(const std::string& worker) override { return hosts_[worker]; }
  Checkpoint& CheckpointOf(TrialId trial) override { return checkpoints_[trial]; }
  LaunchId& OwnerOf(TrialId trial) override { return owners_[trial]; }
  double ValueAt(TrialId trial, Work work) override;
  bool Connect(FaultWorker& worker) override;
  void Disconnect(FaultWorker& worker) override;
  void Send(FaultWorker& worker, std::string line) override;
  void Printed(FaultWorker& worker) override;
  void Begins(const FaultWorker& worker, wire::LaunchRef at) override;
  void Say(std::string problem) override {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  void Acknowledged(TrialId trial, Work work) override { acknowledged_.emplace_back(trial, work); }
  void Exited(FaultWorker& worker) override;

  const std::map<wire::LaunchRef, LaunchFiles>& launches() const { return launches_; }

 private:
  struct Link {
    FaultWorker* worker = nullptr;  // nullptr: a connection of the command line or a stranger
    Speaker speaker;                // the process that made the connection
    std::string parent;             // the worker that this process is, or that started it
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
  // Plans a call of `what` after the latency of a line, but not before the time `last`. Sets `last`
  // to the time of the call. A new listener cancels the call.
  void Later(Time& last, std::function<void()> what);
  PeerId LinkOf(const FaultWorker& worker) const;

  Options options_;
  Random random_;
  Random copy_random_;  // a separate stream, whose draws do not change those of random_
  Listener* listener_ = nullptr;
  std::uint64_t life_ = 0;  // how often the listener was set
  std::map<PeerId, Link> links_;
  PeerId next_peer_ = 1;
  std::int64_t next_stranger_ = 1 << 23;
  std::map<wire::LaunchRef, LaunchFiles> launches_;
  std::map<std::string, HostFiles> hosts_;
  std::map<TrialId, Checkpoint> checkpoints_;
  std::map<TrialId, LaunchId> owners_;  // of checkpoint folders
  std::map<std::string, FaultWorker*> living_;
  std::vector<std::string> lost_;
  std::vector<std::pair<TrialId, Work>> acknowledged_;
  std::string problem_;
  std::vector<std::unique_ptr<FaultWorker>> workers_;  // all workers, dead ones too
};

}  // namespace sluice
