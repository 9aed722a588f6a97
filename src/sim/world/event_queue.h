#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace sluice {

// Something that is to happen at a given time. Moments at the same time come in the order in which
// they were pushed.
struct Moment {
  enum What : std::uint32_t {
    kArrival,  // of a study
    kAnswer,   // the sampler's proposal is there
    kFork,     // the parameters of a fork are there
    kCopied,   // a copy of a checkpoint is made
    kWake,     // the engine asked to be woken
    kReady,    // a launch has started up
    kReport,   // a launch reports
    kLeft,     // a launch is gone
    kDown,     // a node goes down
    kUp        // a node comes back
  };
  Time time{};
  std::uint64_t order = 0;
  What what = kWake;
  std::uint32_t index = 0;    // of a study, a launch's slot or a failure
  std::uint64_t counter = 0;  // a proposal's counter, a trial's number or a launch's version
};

// A binary heap of moments.
class EventQueue {
 public:
  void Push(Time time, Moment moment) {
    moment.time = time;
    moment.order = order_++;
    heap_.push_back(moment);
    std::ranges::push_heap(heap_, Later{});
  }
  const Moment& top() const { return heap_.front(); }
  Moment Pop() {
    std::ranges::pop_heap(heap_, Later{});
    const Moment moment = heap_.back();
    heap_.pop_back();
    return moment;
  }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }

 private:
  struct Later {
    bool operator()(const Moment& a, const Moment& b) const {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };
  std::vector<Moment> heap_;
  std::uint64_t order_ = 0;
};

}  // namespace sluice
