#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "control/site.h"
#include "control/workforce.h"
#include "exec/controller/strays.h"
#include "exec/copy_thread.h"
#include "exec/event_loop.h"
#include "exec/launch_folder.h"
#include "exec/socket/reception.h"
#include "exec/study_world.h"

namespace sluice {

// The site of a controller whose trials run on this machine. It starts processes through launchers,
// watches them through pidfds, talks to workers through a Unix socket, and keeps files in the
// store's folder. It works on the event loop's thread, except that checkpoints are copied on a
// thread of their own. The processes outlive this object.
class LocalSite final : public Site, public Receiver {
 public:
  struct Options {
    StorePaths paths;
    std::string launcher;
    std::string trainer;  // the path of sluice-trainer, if the study has `train`
    StudyId study{};
    std::string name;  // of the study
    StudyWorld world;  // what the study's programs are started with
    // Why nothing of the study can be started, if its world or its trainer cannot be found.
    Status fit;
    std::function<Status()> guard =
        {};  // fails once another controller holds the store; may be null
  };

  // What the sites of a controller share, and outlives them. The engine is read whenever a process
  // is started.
  struct Shared {
    EventLoop& loop;
    Reception& reception;
    Strays& strays;
    const Engine& engine;
  };
  LocalSite(Shared shared, Options options);
  ~LocalSite() override;

  // Must be called before the workforce is opened.
  Status Open();
  // What happens is told to the workforce, which was opened, and workers that connect are heard.
  void Welcome(Workforce& workforce);

  // Launches that are started from now on get this world.
  void SetWorld(StudyWorld world, std::string trainer, Status fit);
  const StudyWorld& world() const { return options_.world; }

  Time Now() const override { return loop_.Now(); }
  TimerId At(Time time, std::function<void()> handler) override;
  void Cancel(TimerId timer) override { loop_.Cancel(timer); }
  Status Spawn(const Trial& trial) override;
  Status Claim(const std::string& worker, const Trial& trial) override;
  Inherited Look(wire::LaunchRef at) override;
  bool Reach(const std::string& worker) override;
  Speaker WhoSpeaks(const std::string& worker) override;
  void Spoke(const std::string& worker, const Speaker& speaker) override;
  Result<Speaker> Identify(PeerId peer, const std::string& worker,
                           const std::string& secret) override;
  bool Lives(const Speaker& speaker) override;
  void Signal(const std::string& worker, Force force) override;
  std::uint64_t ReadOutput(const std::string& worker, std::uint64_t from, bool at_end,
                           const LineHandler& handler) override;
  void WatchOutput(const std::string& worker) override;
  std::vector<std::string> Spool(wire::LaunchRef at) override;
  LaunchEnd EndOf(wire::LaunchRef at, const std::string& worker) override;
  LaunchPlaces PlacesOf(wire::LaunchRef at) const override;
  std::int64_t CheckpointBytes(TrialId trial) override;
  Work CheckpointWork(TrialId trial) override;
  void RemoveCheckpoint(TrialId trial) override;
  void CopyCheckpoint(TrialId from, TrialId to, Work end,
                      std::function<void(const CopyResult&)> done) override;
  void Send(PeerId peer, const wire::ToWorker& message) override { reception_.Send(peer, message); }
  void Close(PeerId peer) override { reception_.Close(peer); }

  bool HasHost(const std::string& worker, const std::string& secret) override;
  void Connected(PeerId peer) override { workforce_->Connected(peer); }
  void Heard(PeerId peer, std::string_view line) override;
  void Closed(PeerId peer) override { workforce_->Closed(peer); }

 private:
  // A launcher that is alive.
  struct Process {
    int pidfd = -1;
    pid_t child = 0;   // the launcher's pid if this process must reap it, else 0
    int watch = -1;    // inotify's number for the launcher's output file
    TimerId poll = 0;  // if the file is not watched: when it is looked at next
  };

  const Study& study() const;
  std::string FolderOf(const std::string& worker) const;
  void AddProcess(const std::string& worker, int pidfd, pid_t child);
  void ProcessEnded(const std::string& worker);
  void OutputChanged();
  void PollOutput(const std::string& worker);
  void CopiesDone();
  void HearNewcomers();

  EventLoop& loop_;
  Reception& reception_;
  Strays& strays_;
  const Engine& engine_;
  Options options_;
  TrialFolders folders_;
  Workforce* workforce_ = nullptr;
  int inotify_ = -1;
  int copies_done_ = -1;                       // eventfd
  std::unique_ptr<CopyThread> copier_;         // made with the first copy
  std::map<std::string, Process> processes_;   // by worker name
  std::map<int, std::string> output_watches_;  // inotify's number to worker name
};

}  // namespace sluice
