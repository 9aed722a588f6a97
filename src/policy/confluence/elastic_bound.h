#pragma once

#include <span>

#include "cluster/speed_table.h"

namespace sluice {

// What elastic trials run on.
struct ElasticRoom {
  double devices = 0;
  double most_width = 0;  // of one trial, in devices
};

// The largest speed that so many trials can have together, in that of one trial on one device, whatever widths
// they have and however these change.
double MostSpeed(const SpeedTable& widths, const ElasticRoom& room, std::size_t trials);

// Seconds: no way of running these trials, which would each take so long alone on one device, is done sooner.
// Infinite if there is work and nothing to run it on.
double ElasticBound(std::span<const double> seconds_alone, const SpeedTable& widths,
                    const ElasticRoom& room);

}  // namespace sluice
