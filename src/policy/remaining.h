#pragma once

#include <map>
#include <string>
#include <string_view>

#include "policy/policy.h"

namespace sluice {

// How long trials would still take, by what was measured of their shapes.
class RemainingTimes {
 public:
  RemainingTimes(const SpeedModel& speeds, const Cluster& cluster);

  // Seconds, alone on one device of the first kind there is. Of a shape that nobody has measured a unit
  // of work counts as a second: then only trials of one shape can be compared. Without a bound on the
  // work it is infinite.
  double Alone(const WorkItem& item) const;

 private:
  const SpeedModel& speeds_;
  std::string kind_;
  mutable std::map<std::string_view, double> seconds_per_unit_;
};

}  // namespace sluice
