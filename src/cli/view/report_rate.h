#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"

namespace sluice {

// Measures the reports per second over the last half minute.
class ReportRate {
 public:
  // Takes the number of reports so far, if it is known. Returns the rate, or nothing if the rate
  // cannot be told yet.
  std::optional<double> Add(Time now, std::optional<std::int64_t> reports);

 private:
  struct Sample {
    Time time;
    std::int64_t reports;
  };
  std::deque<Sample> samples_;
};

}  // namespace sluice
