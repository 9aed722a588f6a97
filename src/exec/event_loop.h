#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/result.h"
#include "base/time.h"

namespace sluice {

// One thread waits here for everything: sockets, ended processes, signals, timers.
class EventLoop {
 public:
  using Handler = std::function<void()>;

  static Result<std::unique_ptr<EventLoop>> Open();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;

  // Calls the handler whenever the descriptor (not owned) is readable or hung up. After
  // WatchWritable(descriptor, true), also calls it whenever the descriptor is writable.
  void Watch(int descriptor, Handler handler);
  void WatchWritable(int descriptor, bool writable);
  void Forget(int descriptor);

  // Calls the handler once, at or after the time. Each timer has an id of its own, which is never
  // used again. So cancelling a timer that has fired or was cancelled has no effect.
  using TimerId = std::uint64_t;
  TimerId At(Time time, Handler handler);
  void Cancel(TimerId timer);

  // Waits until a descriptor is ready or a timer is due, and calls the handlers of all that are.
  void RunOnce();

  // The wall clock's time when the loop was opened, plus the time that has passed since. Time in
  // which the machine slept is included. So setting the wall clock has no effect on timers.
  Time Now() const;

 private:
  explicit EventLoop(int epoll);

  struct Watched {
    std::shared_ptr<Handler> handler;  // shared: a handler may call Forget for its own descriptor
    std::uint32_t events = 0;
    std::uint32_t round = 0;  // differs from that of an earlier descriptor of the same number
  };
  static std::uint64_t Tag(int descriptor, std::uint32_t round);
  int epoll_;
  Time opened_;
  Duration opened_since_boot_;
  std::map<int, Watched> watched_;
  std::map<std::pair<Time, TimerId>, Handler> timers_;
  std::map<TimerId, Time> timer_times_;
  TimerId next_timer_ = 1;
  std::uint32_t next_round_ = 1;
};

}  // namespace sluice
