#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "sim/read/scenario.h"
#include "sim/true_speed.h"
#include "sim/world/launch_table.h"
#include "sim/world/shared_devices.h"
#include "sim/world/simulated_study.h"

namespace sluice {

// How fast launches work on devices that they share. Each launch that comes or goes changes the
// speed of its neighbours, and so the time of their next reports.
class LaunchSpeeds {
 public:
  // All arguments must outlive this object.
  LaunchSpeeds(const Scenario& scenario, const SimulatedStudies& studies, SharedDevices& devices,
               LaunchTable& launches)
      : scenario_(scenario), studies_(studies), devices_(devices), launches_(launches) {}

  // Why one of the launch's devices has too little free memory for it; empty if all have enough.
  std::string WhyOutOfMemory(const SimulatedLaunch& launch) const;

  // From now on the launch and its neighbours slow each other down.
  void Join(std::uint32_t slot, Time now);
  // Ends what Join began. Does nothing if the launch has not joined.
  void Part(std::uint32_t slot, Time now);

 private:
  const SimulatedStudy& StudyOf(const SimulatedLaunch& launch) const {
    return *studies_[Number(launch.trial.study) - 1];
  }
  TrueSpeed::Circumstances CircumstancesOf(const SimulatedLaunch& launch) const;
  void SetRate(SimulatedLaunch& launch) const;
  // Sets new speeds for all other launches that share a device with this one.
  void SetRatesOfNeighbours(std::uint32_t slot, Time now);

  const Scenario& scenario_;
  const SimulatedStudies& studies_;
  SharedDevices& devices_;
  LaunchTable& launches_;
};

}  // namespace sluice
