#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "control/site.h"
#include "sim/timeline.h"

namespace sluice {

// Thrown when a controller dies. What the controller was about to do is not done.
struct ControllerDied {};

// The machine of a controller, for one life of the controller. Its clock may be wrong, but jumps
// only when the machine is suspended.
class FaultMachine final : public Clock {
 public:
  FaultMachine(Timeline& timeline, Duration clock_offset)
      : timeline_(timeline), offset_(clock_offset) {}
  FaultMachine(const FaultMachine&) = delete;
  ~FaultMachine() override;

  // `after` is called after each call into the controller.
  void SetAfter(std::function<void()> after) { after_ = std::move(after); }
  void After() { after_(); }
  // The controller dies after this many more calls to the outside.
  void DieAfter(std::uint64_t calls) { calls_left_ = calls; }
  // Counts a call. The controller dies if none is left.
  void Call();
  // The machine is suspended for this long, so that its clock jumps.
  void Suspend(Duration duration) { offset_ += duration; }

  Time Now() const override { return timeline_.now() + offset_; }
  TimerId At(Time time, std::function<void()> handler) override;
  void Cancel(TimerId timer) override;

 private:
  Timeline& timeline_;
  Duration offset_;
  std::function<void()> after_;
  std::uint64_t calls_left_ = UINT64_MAX;
  std::set<TimerId> timers_;
};

}  // namespace sluice
