#pragma once

#include <vector>

#include "policy/policy.h"

namespace sluice {

// How many trials of a study are worth training in one program.
class Fusion {
 public:
  Fusion(const SpeedModel& speeds, const StudyView& study);

  // Trials' worth of work a program of so many does in the time of one alone, as the tables have it.
  double Throughput(int trials) const;
  // From where twice as many bring less than a tenth more; at most what the study allows.
  int knee() const { return knee_; }
  // How quick a program of so many is on this device beside one that nobody lends: as measured, else
  // by how long it is open.
  double Quickness(const Device& device, int trials) const;
  // As many as its memory holds, and no more than the knee; 0: not even one.
  int MostOn(const Device& device) const;
  // Devices that nobody lends and nobody of another study holds, and that have memory for one at least.
  std::vector<const Device*> Home(const Cluster& cluster, const WorkView& work) const;
  // What a member holds of a whole device.
  Grant GrantOn(NodeId node, DeviceId device, BundleId bundle) const;

 private:
  const SpeedModel& speeds_;
  const StudyView& study_;
  double alone_ = 1;  // its speed
  int knee_ = 1;
};

}  // namespace sluice
