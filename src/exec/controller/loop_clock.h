#pragma once

#include <functional>
#include <utility>

#include "control/site.h"
#include "exec/event_loop.h"

namespace sluice {

// The clock of a controller whose events come from an event loop.
class LoopClock final : public Clock {
 public:
  explicit LoopClock(EventLoop& loop) : loop_(loop) {}
  Time Now() const override { return loop_.Now(); }
  TimerId At(Time time, std::function<void()> handler) override {
    return loop_.At(time, std::move(handler));
  }
  void Cancel(TimerId timer) override { loop_.Cancel(timer); }

 private:
  EventLoop& loop_;
};

}  // namespace sluice
