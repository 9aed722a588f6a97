#include "cli/view/report_rate.h"

#include <chrono>

namespace sluice {

std::optional<double> ReportRate::Add(Time now, std::optional<std::int64_t> reports) {
  using std::chrono::seconds;
  if (!reports) return std::nullopt;
  if (samples_.empty() || now - samples_.back().time >= seconds(1))
    samples_.push_back({now, *reports});
  while (samples_.size() > 2 && now - samples_.front().time > seconds(30)) samples_.pop_front();
  const Duration passed = now - samples_.front().time;
  const std::int64_t more = *reports - samples_.front().reports;
  if (passed < seconds(1) || more < 0) return std::nullopt;
  return static_cast<double>(more) / Seconds(passed);
}

}  // namespace sluice
