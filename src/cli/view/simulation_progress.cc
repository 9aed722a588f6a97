#include "cli/view/simulation_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace sluice {

std::int64_t StopwatchNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

SimulationProgressLine::SimulationProgressLine() : shown_(isatty(STDERR_FILENO) != 0) {}

void SimulationProgressLine::Say(const std::string& doing, const SimulationProgress& at) {
  const auto now = Clock::now();
  if (!shown_ || now < next_) return;
  next_ = now + std::chrono::milliseconds(250);
  written_ = true;
  const std::string line =
      fmt::format("\r{}: {} events, {} simulated, {} trials ended\033[K", doing, at.events,
                  FormatDuration(at.now - Time{}), at.trials_ended);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void SimulationProgressLine::Clear() {
  if (written_) std::fputs("\r\033[K", stderr);
  written_ = false;
}

}  // namespace sluice
