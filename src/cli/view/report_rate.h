#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"

namespace sluice {

// Reports a second over the last half minute.
class ReportRate {
 public:
  // Takes how many reports there are by now; nothing if that is not known.
  std::optional<double> Add(Time now, std::optional<std::int64_t> reports);

 private:
  struct Sample {
    Time time;
    std::int64_t reports;
  };
  std::deque<Sample> samples_;
};

}  // namespace sluice
