#include "rig/fault_machine.h"

#include <memory>

namespace sluice {

FaultMachine::~FaultMachine() {
  for (const TimerId timer : timers_) timeline_.Cancel(timer);
}

void FaultMachine::Call() {
  if (calls_left_ == 0) throw ControllerDied{};
  --calls_left_;
}

Clock::TimerId FaultMachine::At(Time time, std::function<void()> handler) {
  // The handler needs the timer's number, which is known only after the call.
  const auto id = std::make_shared<TimerId>(0);
  *id = timeline_.At(time - offset_, [this, id, handler = std::move(handler)] {
    timers_.erase(*id);
    handler();
    after_();
  });
  timers_.insert(*id);
  return *id;
}

void FaultMachine::Cancel(TimerId timer) {
  if (timers_.erase(timer) > 0) timeline_.Cancel(timer);
}

}  // namespace sluice
