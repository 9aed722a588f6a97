#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/time.h"

namespace sluice {

// Virtual time, and the actions planned in it. Actions happen in order of their times. Actions with
// the same time happen in the order in which they were planned. Time stands still during an action.
class Timeline {
 public:
  using Id = std::uint64_t;  // never 0

  Time now() const { return now_; }
  bool empty() const { return planned_.empty(); }

  // Plans an action and returns its id. A time before now counts as now.
  Id At(Time time, std::function<void()> what) {
    const Id id = next_++;
    const Time when = time > now_ ? time : now_;
    planned_.emplace(std::pair(when, id), std::move(what));
    times_.emplace(id, when);
    return id;
  }
  Id After(Duration delay, std::function<void()> what) { return At(now_ + delay, std::move(what)); }

  // Does nothing if the action has already happened, or if there is no such id.
  void Cancel(Id id) {
    const auto found = times_.find(id);
    if (found == times_.end()) return;
    planned_.erase({found->second, id});
    times_.erase(found);
  }

  // Runs the next action. There must be one.
  void Step() {
    const auto first = planned_.begin();
    now_ = first->first.first;
    times_.erase(first->first.second);
    const std::function<void()> what = std::move(first->second);
    planned_.erase(first);
    what();
  }

 private:
  Time now_{};
  Id next_ = 1;
  std::map<std::pair<Time, Id>, std::function<void()>> planned_;
  std::map<Id, Time> times_;
};

}  // namespace sluice
