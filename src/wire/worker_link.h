#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "wire/message.h"

namespace sluice::wire {

// The controller's end of the conversation with one worker. It has no socket and no clock, so that
// the simulator uses the same code. It checks that a worker says hello first, that its messages
// belong to the launch it holds, and that none is missing. It knows when the worker was last heard.
// Whether a message is new is for the engine to say (Engine::Admit).
class WorkerLink {
 public:
  enum class Step {
    kGreeted,   // a good hello
    kAlive,     // a heartbeat
    kReady,     // the worker would take a trial
    kNumbered,  // a message of the launch it holds
    kAsk,       // a request of the command line; no hello needed
  };

  // Fails where the protocol is broken: answer with Refuse and close. The worker comes back and
  // sends again what is missing.
  Result<Step> Hear(const FromWorker& message, Time now);

  // The worker holds this launch now: it was assigned, or the worker connected with it. Its next
  // message has the number after `seen`.
  void Hold(LaunchRef at, std::uint64_t seen);
  void Release() { at_.reset(); }

  bool greeted() const { return hello_.has_value(); }
  const Hello& hello() const { return *hello_; }
  const std::optional<LaunchRef>& holds() const { return at_; }
  Time heard() const { return heard_; }

 private:
  std::optional<Hello> hello_;
  std::optional<LaunchRef> at_;
  std::uint64_t next_seq_ = 1;
  Time heard_{};
};

}  // namespace sluice::wire
