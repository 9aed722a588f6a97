#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "sim/simulation.h"

namespace sluice {

// Nanoseconds of a clock that never goes back. Simulations measure decision times with it.
std::int64_t StopwatchNs();

// A line on the terminal that shows how far a simulation is. It appears after a second, and is
// removed at the end.
class SimulationProgressLine {
 public:
  SimulationProgressLine();
  ~SimulationProgressLine() { Clear(); }
  SimulationProgressLine(const SimulationProgressLine&) = delete;
  SimulationProgressLine& operator=(const SimulationProgressLine&) = delete;

  void Say(const std::string& doing, const SimulationProgress& at);
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;
  const bool shown_;
  bool written_ = false;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
};

}  // namespace sluice
