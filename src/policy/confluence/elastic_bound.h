#pragma once

#include <span>

#include "cluster/speed_table.h"

namespace sluice {

// What elastic trials run on.
struct ElasticRoom {
  double devices = 0;
  double most_width = 0;  // of one trial, in devices
};

// The most speed that this many trials can have together, as a multiple of the speed of one trial
// on one device. No widths give more, even if they change over time.
double MostSpeed(const SpeedTable& widths, const ElasticRoom& room, std::size_t trials);

// A lower bound on the makespan, in seconds: no schedule of these trials ends sooner.
// `seconds_alone` is the time that each trial would take alone on one device. Infinite if there is
// work and nothing to run it on.
double ElasticBound(std::span<const double> seconds_alone, const SpeedTable& widths,
                    const ElasticRoom& room);

}  // namespace sluice
