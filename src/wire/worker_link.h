#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "wire/message.h"

namespace sluice::wire {

// The controller's end of the conversation with one worker. It has no socket and no clock, so that
// the simulator uses the same code. It checks that a worker says hello first, that its messages
// belong to the launches that it holds, and that no message is missing. It also knows when the
// worker was last heard. The engine decides whether a message is new (Engine::Admit).
class WorkerLink {
 public:
  enum class Step {
    kGreeted,   // a good hello
    kAlive,     // a heartbeat
    kReady,     // the worker can take a trial
    kCapacity,  // the worker has changed how many launches it takes at once
    kNumbered,  // a message of a launch that the worker holds
    kDropped,   // a message of a refused launch, sent before the worker knew
    kAsk,       // a request of the command line, which needs no hello
  };

  // Fails if the message breaks the protocol. The caller then answers with Refuse and closes the
  // connection. The worker connects again, and sends again what is missing.
  Result<Step> Hear(const FromWorker& message, Time now);

  // The worker holds this launch now: it was assigned, or the worker connected with it. Its next
  // message has the number after `seen`. A worker of version 1 holds no other launch.
  void Hold(LaunchRef at, std::uint64_t seen);
  // The worker of version 2 has left this launch, so it sends nothing more for it.
  void Release(LaunchRef at) { next_seq_.erase(at); }
  // The launch was refused. Its messages that are still on their way are dropped.
  void Drop(LaunchRef at);
  // The worker holds nothing.
  void ReleaseAll() { next_seq_.clear(); }

  bool greeted() const { return hello_.has_value(); }
  const Hello& hello() const { return *hello_; }
  bool Holds(LaunchRef at) const { return next_seq_.contains(at); }
  Time heard() const { return heard_; }

 private:
  Status CheckHello(const Hello& hello) const;
  Result<Step> HearNumbered(const Numbered& numbered);
  std::string Expected() const;

  std::optional<Hello> hello_;
  std::map<LaunchRef, std::uint64_t> next_seq_;  // of each launch it holds
  std::set<LaunchRef> dropped_;
  Time heard_{};
};

}  // namespace sluice::wire
