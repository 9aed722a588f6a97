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

// How a launch ended, as the machine tells.
struct LaunchEnd {
  enum class Kind { kDone, kPaused, kFailed, kLost, kNotStarted };
  Kind kind = Kind::kLost;
  std::string reason;
};

// What became of a launch that an earlier controller has started, or was about to.
struct Inherited {
  enum class Fate {
    kNever,  // no process carries it, and none ever will
    kRuns,   // in the process of `worker`
    kGone,   // in that process, which has ended
  };
  Fate fate = Fate::kNever;
  std::string worker;
};

// Which process of a host speaks the protocol, if one does.
struct Speaker {
  bool speaks = false;
  std::int64_t pid = 0;
  std::uint64_t start = 0;  // tells it from a later process of the same number; 0: not known
  std::uint64_t image = 0;  // and from what it was before it replaced itself; 0: not known
  // Added to the numbers of its messages, if it counts as another process of the launch did before.
  std::uint64_t base = 0;
  bool Is(const Speaker& other) const {
    return pid == other.pid && (start == other.start || start == 0 || other.start == 0) &&
           (image == other.image || image == 0 || other.image == 0);
  }
};

enum class Force {
  kTerminate,  // asks the program to end, and kills it after its grace
  kKill,
};

// The machines on which the trials of one study run, as their controller sees them: processes,
// connections, files and a clock. Real ones in exec, simulated ones in sim. A host is a process that
// was started for a launch; its worker is named after that launch (WorkerName).
//
// The site tells the Workforce of new connections, of lines and ends of them, of hosts that have
// ended, once, and of output that grew; never from inside a call of its own.
class Site {
 public:
  virtual ~Site() = default;

  // Steady: never goes back, whatever happens to the machine's clock.
  virtual Time Now() const = 0;
  using TimerId = std::uint64_t;  // never 0
  virtual TimerId At(Time time, std::function<void()> handler) = 0;
  virtual void Cancel(TimerId timer) = 0;

  // Starts a host for the trial's latest launch. Fails if there is none then and never will be.
  virtual Status Spawn(const Trial& trial) = 0;
  // The trial's latest launch is this host's, whoever looks for it: before the worker hears of it.
  virtual Status Claim(const std::string& worker, const Trial& trial) = 0;
  // What became of a launch; a host of it that runs is told of from now on.
  virtual Inherited Look(wire::LaunchRef at) = 0;
  // Whether a host lives; one that does is told of from now on.
  virtual bool Reach(const std::string& worker) = 0;
  // What is written down of who speaks for a host, for the next controller too.
  virtual Speaker WhoSpeaks(const std::string& worker) = 0;
  virtual void Spoke(const std::string& worker, const Speaker& speaker) = 0;
  // The process at the other end of a connection, by the machine's own word. Fails if it may not
  // speak for the host: it is another user's, its secret is wrong, or it has none and was not started
  // by the host.
  virtual Result<Speaker> Identify(PeerId peer, const std::string& worker,
                                   const std::string& secret) = 0;
  virtual bool Lives(const Speaker& speaker) = 0;
  virtual void Signal(const std::string& worker, Force force) = 0;

  // Reads lines of a host's standard output from an offset on; `end` is the offset behind the line.
  // Returns the offset behind the last. At the end of a host a line may lack its newline.
  using LineHandler = std::function<void(std::string_view line, std::uint64_t end)>;
  virtual std::uint64_t ReadOutput(const std::string& worker, std::uint64_t from, bool at_end,
                                   const LineHandler& handler) = 0;
  // Tells when there is more of it.
  virtual void WatchOutput(const std::string& worker) = 0;

  // What a launch left behind: messages that it could not deliver, and how it ended.
  virtual std::vector<std::string> Spool(wire::LaunchRef at) = 0;
  virtual LaunchEnd EndOf(wire::LaunchRef at, const std::string& worker) = 0;

  virtual LaunchPlaces PlacesOf(wire::LaunchRef at) const = 0;
  virtual std::int64_t CheckpointBytes(TrialId trial) = 0;
  // The work of the latest checkpoint; 0 if there is none or it does not say.
  virtual Work CheckpointWork(TrialId trial) = 0;
  virtual void RemoveCheckpoint(TrialId trial) = 0;
  // Whole or not at all, however often it is asked for, and not if its work is at the end. Returns
  // the work of what was copied, if that says.
  virtual Result<std::optional<Work>> CopyCheckpoint(TrialId from, TrialId to, Work end) = 0;

  virtual void Send(PeerId peer, const wire::ToWorker& message) = 0;
  virtual void Close(PeerId peer) = 0;
};

}  // namespace sluice
