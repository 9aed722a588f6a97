#pragma once

#include <map>
#include <string>
#include <string_view>

#include "policy/policy.h"

namespace sluice {

// How long trials would still take, by the measured speeds of their shapes.
class RemainingTimes {
 public:
  RemainingTimes(const SpeedModel& speeds, const Cluster& cluster);

  // Seconds the trial would still take, alone on one device of the cluster's first kind. Infinite
  // if its work has no bound. If its shape was not measured yet, a unit of work counts as a second:
  // then only trials of one shape can be compared.
  double Alone(const WorkItem& item) const;
  // Seconds that a trial takes for one unit of work, alone on one device; 0: nothing of this shape
  // was measured.
  double SecondsPerUnit(std::string_view shape, const Demand& demand) const;
  // Units of work that the trial does in a second, alone at this width. If the shape was not
  // measured yet, only the ratio of the speeds at two widths means something.
  double SpeedAt(const WorkItem& item, Milli width) const;

 private:
  SpeedEstimate Ask(std::string_view shape, const Demand& demand, Milli width) const;

  const SpeedModel& speeds_;
  std::string kind_;
  mutable std::map<std::string_view, double> seconds_per_unit_;
};

}  // namespace sluice
