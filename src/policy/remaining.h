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
  // The seconds of one unit of work, alone on one device; 0: nothing of this shape was measured.
  double SecondsPerUnit(std::string_view shape, const Demand& demand) const;
  // Units of work a second, alone at this width. Of a shape that nobody has measured only the ratio of
  // two widths means something.
  double SpeedAt(const WorkItem& item, Milli width) const;

 private:
  SpeedEstimate Ask(std::string_view shape, const Demand& demand, Milli width) const;

  const SpeedModel& speeds_;
  std::string kind_;
  mutable std::map<std::string_view, double> seconds_per_unit_;
};

}  // namespace sluice
