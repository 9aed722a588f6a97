#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "cluster/cluster.h"
#include "control/controller.h"
#include "exec/controller/lodger.h"
#include "exec/controller/loop_clock.h"
#include "exec/controller/strays.h"
#include "exec/event_loop.h"
#include "exec/socket/reception.h"
#include "ledger/lock.h"
#include "ledger/writer.h"

namespace sluice {

// The controller of a store, on this machine. It has an event loop, threads for the ledger's writer
// and for the samplers, and handles signals. It drives the studies that were open when it began,
// takes in those that the command line hands over, and lets go of each that has nothing more to do.
//
// What the command line asks on a connection (wire::Ask):
//   lend    answered once all that is known here is on disk. From then on nothing is written and
//           nothing else is handled, until the next line on that connection, or its end.
//   open    takes the study in, or changes it if it runs.
//   await   answered when the controller has let go of the study, or keeps it for a follower only;
//           if it was the last study, once the store has been released too.
//   others  as Controller::Asked.
//
// A study that trains the best trial of another, its follower, needs that one in the engine. So a
// leader that has finished is taken in with its follower, and is kept until the follower has
// finished or is let go. A leader that is paused is let go as any study: its follower waits for it.
class LocalController {
 public:
  struct Parts {
    StorePaths paths;
    std::string launcher;
    std::string version;  // of this program
    Node node;            // this machine
    std::unique_ptr<StoreLock> lock;
    std::unique_ptr<EventLoop> loop;
    std::unique_ptr<Ledger> ledger;
    std::unique_ptr<Engine> engine;  // of the open studies (RecoverShared)
    std::int64_t events_since_snapshot = 0;
    std::function<Result<Lodging>(Database&, const Study&)> find_lodging;
    std::function<void()> ready;  // called once connections are accepted
    // How long it waits for the first study or the first question.
    Duration patience = std::chrono::seconds(10);
  };

  explicit LocalController(Parts parts);
  ~LocalController();

  // Runs until no study is left and the command line asks for nothing. If this fails, for example
  // because the disk is full, running trials continue without a controller, and the next controller
  // finds them.
  Status Run();

 private:
  struct Request {
    PeerId peer = 0;
    wire::Ask ask;
  };
  struct Caller {
    StudyId awaits{};
  };

  Status Begin();
  Result<std::unique_ptr<Lodger>> MakeLodger(Database& database, const Study& study,
                                             std::vector<Observation>& knowledge);
  Controller::Driven Drive(StudyId study, Lodger& lodger, std::vector<Observation> knowledge);
  Status TakeIn(const std::string& name, const wire::Ask& ask);
  Status TakeInLeaderOf(const Study& follower);
  Status TakeInLeaders();
  void Flush();
  void CommitDone();
  Status Settle();
  void Interrupted();

  void Asked(PeerId peer, const wire::Ask& ask);
  void Serve();
  void Lend(const Request& request);
  // Returns false if the request has to wait until the study was let go.
  bool Open(const Request& request);
  Status Change(const Study& study, const wire::Ask& ask);
  void Await(const Request& request);
  bool IsKept(const Study& study) const;
  std::optional<StudyId> FindDone() const;
  void LetGo(StudyId study);
  void LetGo();
  bool IsAtWork(StudyId study) const;
  void AnswerWaiting(const Status& status);
  bool IsOver() const;
  void Leave(const Status& status);

  StorePaths paths_;
  const std::string launcher_;
  const std::string version_;
  const Node node_;
  std::function<Result<Lodging>(Database&, const Study&)> find_lodging_;
  std::function<void()> ready_;
  const Duration patience_;
  std::unique_ptr<StoreLock> lock_;
  std::unique_ptr<EventLoop> loop_;
  std::function<Status()> guard_;
  int commit_done_ = -1;  // eventfds
  int signals_ = -1;
  std::unique_ptr<Writer> writer_;
  Strays strays_;
  LoopClock clock_;
  Reception reception_;
  std::map<StudyId, std::unique_ptr<Lodger>> lodgers_;
  std::unique_ptr<Controller> controller_;  // its workforces refer to the sites of the lodgers

  std::map<PeerId, Caller> callers_;
  std::deque<Request> requests_;
  std::optional<Error> failure_;
  bool is_new_ = true;  // nobody has asked for anything yet, and there was no study
  int interrupts_ = 0;
};

}  // namespace sluice
