#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "sim/world/shared_devices.h"
#include "sim/world/simulated_launch.h"

namespace sluice {

// A phase of a launch on one device, or on a node's cores. Rows are the devices in the nodes'
// order, then the nodes.
struct Interval {
  std::uint32_t row = 0;
  StudyId study{};
  TrialId trial{};
  Phase phase = Phase::kRun;
  Milli share = kWhole;  // the share of the device, or the number of cores
  Time begin{};
  Time end{};
};

// What launches held of the devices and cores of a run.
struct Usage {
  // Device-seconds held in each phase, weighted by share. For launches without devices: the
  // core-seconds.
  std::array<double, kPhases> device_seconds{};
  std::array<double, kPhases> core_seconds{};
  Milli most_shares = 0;  // the largest sum of shares of all devices held at one moment
  std::vector<Interval> intervals;
};

// Measures the usage while launches come and go.
class DeviceUsage {
 public:
  // Intervals are recorded only if `record_intervals` is set, because there are many. The devices
  // must outlive this object.
  DeviceUsage(const SharedDevices& devices, bool record_intervals)
      : devices_(devices), record_intervals_(record_intervals) {}

  // A launch with this grant begins, or ends. The launches of a bundle are one program: together
  // they hold the grant once.
  void Hold(const Grant& grant, Time now);
  void LetGo(const Grant& grant, Time now);
  // Counts the time since the launch's phase began. The next phase begins now.
  void EndPhase(SimulatedLaunch& launch, Time now);

  // What was measured. To be called once, at the end.
  Usage Take() { return std::move(usage_); }

 private:
  struct Bundle {
    int members = 0;
    Time since{};
  };

  void Record(const SimulatedLaunch& launch, std::size_t row, Milli share, Time began, Time now);

  const SharedDevices& devices_;
  const bool record_intervals_;
  Usage usage_;
  Milli shares_ = 0;  // the sum of the shares of devices that are held now
  std::map<BundleId, Bundle> bundles_;
};

}  // namespace sluice
