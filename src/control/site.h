#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/engine.h"
#include "wire/message.h"

namespace sluice {

// A connection of a worker, or of the command line.
using PeerId = std::uint64_t;

// Where a launch finds its files.
struct LaunchPlaces {
  std::string folder;
  std::string checkpoint;
};

// How a launch ended, according to the machine.
struct LaunchEnd {
  enum class Kind {
    kDone,
    kPaused,
    kCutShort,  // its program was asked to end, and ended well
    kFailed,
    kLost,
    kNotStarted,
  };
  Kind kind = Kind::kLost;
  std::string reason;
};

// What became of a launch that an earlier controller started, or was about to start.
struct Inherited {
  enum class Fate {
    kNever,  // no process carries it, and none ever will
    kRuns,   // in the process of `worker`
    kGone,   // the process of `worker` carried it, and has ended
  };
  Fate fate = Fate::kNever;
  std::string worker;
};

// The process that speaks the protocol for a host. `speaks` is false if there is none.
struct Speaker {
  bool speaks = false;
  std::int64_t pid = 0;
  std::uint64_t start = 0;  // distinguishes it from a later process with the same pid; 0: not known
  std::uint64_t image = 0;  // changes when the process replaces its program (exec); 0: not known
  // Added to the numbers of its messages, if an earlier process of the launch used the same
  // numbers.
  std::uint64_t base = 0;
  bool Is(const Speaker& other) const {
    return pid == other.pid && (start == other.start || start == 0 || other.start == 0) &&
           (image == other.image || image == 0 || other.image == 0);
  }
};

enum class Force {
  kTerminate,  // asks the program to end, and kills it after a grace period
  kKill,
};

class Clock {
 public:
  virtual ~Clock() = default;

  // Steady: never goes back, whatever happens to the machine's clock.
  virtual Time Now() const = 0;
  using TimerId = std::uint64_t;  // never 0
  virtual TimerId At(Time time, std::function<void()> handler) = 0;
  virtual void Cancel(TimerId timer) = 0;
};

// The machines on which the trials of one study run, as their controller sees them: processes,
// connections, files and a clock. The real ones are in exec, simulated ones in tests/rig.
//
// A host is the process that was started for a launch. Its worker is the program that this process
// runs. Both go by the name of that launch (WorkerName). If the worker speaks the protocol, one of
// its processes at a time does so (Speaker).
//
// The site tells the Workforce of new connections, of their lines and ends, of hosts that have
// ended (once each), and of output that grew. It never does so from within a call that the
// Workforce makes to it.
class Site : public Clock {
 public:
  // Starts a host for the trial's latest launch. If this fails, there is no such host, and there
  // never will be.
  virtual Status Spawn(const Trial& trial) = 0;
  // Records, also for every later controller, that this host carries the trial's latest launch.
  // Called before the worker hears of the launch.
  virtual Status Claim(const std::string& worker, const Trial& trial) = 0;
  // Finds out what became of a launch. If its host runs, the site reports on that host to the
  // Workforce from now on.
  virtual Inherited Look(wire::LaunchRef at) = 0;
  // Whether a host lives. If it does, the site reports on it to the Workforce from now on.
  virtual bool Reach(const std::string& worker) = 0;
  // The process that speaks for a host, as recorded by Spoke. The next controller reads it too.
  virtual Speaker WhoSpeaks(const std::string& worker) = 0;
  virtual void Spoke(const std::string& worker, const Speaker& speaker) = 0;
  // The process at the other end of a connection, as the machine itself knows it. Fails if the
  // process may not speak for the host: it is another user's, its secret is wrong, or it has no
  // secret and was not started by the host.
  virtual Result<Speaker> Identify(PeerId peer, const std::string& worker,
                                   const std::string& secret) = 0;
  virtual bool Lives(const Speaker& speaker) = 0;
  virtual void Signal(const std::string& worker, Force force) = 0;

  // Reads lines of a host's standard output from an offset on. `end` is the offset after the line.
  // Returns the offset after the last line. `at_end`: the host has ended, so its last line may lack
  // its newline.
  using LineHandler = std::function<void(std::string_view line, std::uint64_t end)>;
  virtual std::uint64_t ReadOutput(const std::string& worker, std::uint64_t from, bool at_end,
                                   const LineHandler& handler) = 0;
  // From now on tells the Workforce when the host's standard output has grown.
  virtual void WatchOutput(const std::string& worker) = 0;

  // What a launch left behind: messages that it could not deliver, and how it ended.
  virtual std::vector<std::string> Spool(wire::LaunchRef at) = 0;
  virtual LaunchEnd EndOf(wire::LaunchRef at, const std::string& worker) = 0;

  virtual LaunchPlaces PlacesOf(wire::LaunchRef at) const = 0;
  virtual std::int64_t CheckpointBytes(TrialId trial) = 0;
  // The work of the latest checkpoint; 0 if there is no checkpoint, or it does not state its work.
  virtual Work CheckpointWork(TrialId trial) = 0;
  virtual void RemoveCheckpoint(TrialId trial) = 0;
  // The work of a copied checkpoint, if the checkpoint states it; or the reason why there is no
  // copy.
  using CopyResult = Result<std::optional<Work>>;
  // Copies a checkpoint, whole or not at all. The call returns before the copy is made, and `done`
  // is called when the copy is on disk or has failed. If this site ends before that, `done` is not
  // called. If the copy is there already, the call succeeds, so it may be repeated. The copy fails
  // if the work of the checkpoint has reached `end`.
  virtual void CopyCheckpoint(TrialId from, TrialId to, Work end,
                              std::function<void(const CopyResult&)> done) = 0;

  virtual void Send(PeerId peer, const wire::ToWorker& message) = 0;
  virtual void Close(PeerId peer) = 0;
};

}  // namespace sluice
