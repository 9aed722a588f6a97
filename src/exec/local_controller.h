#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "control/controller.h"
#include "exec/event_loop.h"
#include "exec/local_site.h"
#include "exec/loop_clock.h"
#include "exec/search_thread.h"
#include "exec/session.h"
#include "exec/socket/reception.h"
#include "exec/strays.h"
#include "exec/study_world.h"
#include "ledger/ledger.h"
#include "ledger/writer.h"

namespace sluice {

// A controller on this machine. It has an event loop, threads for the ledger's writer and for the
// sampler, and handles the user's signals.
class LocalController {
 public:
  struct Parts {
    StorePaths paths;
    std::string launcher;
    std::string trainer;  // empty if the study needs none
    StudyWorld world;     // as in LocalSite::Options
    std::unique_ptr<EventLoop> loop;
    std::unique_ptr<Ledger> ledger;
    std::function<Status()> guard;  // as in LocalSite::Options
    std::unique_ptr<Sampler> sampler;
    Controller::Parts controller;
    std::vector<Observation> knowledge;  // for the sampler
  };

  LocalController(Parts parts, Watcher& watcher);
  ~LocalController();

  // Applies the events `first`, which include ControllerStarted. Then runs until the study has
  // finished, the study pauses by itself (RunEnd::kPaused), or the user interrupts. If this fails,
  // for example because the disk is full, running trials continue without a controller, and the
  // next controller finds them.
  Result<RunEnd> Run(std::vector<EventBody> first);

 private:
  class Lodger;  // a study that this controller drives

  const Study& study() const { return *controller_.engine().study(study_); }
  Workforce& workforce() { return controller_.workforce(study_); }
  void Flush();
  void CommitDone();
  void Interrupted();
  void SayPause();
  void Tick();
  Status LastCommit();

  Watcher& watcher_;
  StudyId study_;
  std::unique_ptr<EventLoop> loop_;
  int commit_done_ = -1;  // eventfds
  int signals_ = -1;
  std::unique_ptr<Writer> writer_;
  Strays strays_;
  LoopClock clock_;
  Reception reception_;
  std::map<StudyId, std::unique_ptr<Lodger>> lodgers_;
  Controller controller_;  // last: its workforces refer to the sites of the lodgers
  const std::string socket_;
  int interrupts_ = 0;
  bool said_pause_ = false;
  Time ticked_{};
};

}  // namespace sluice
