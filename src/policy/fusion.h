#pragma once

#include <string>
#include <vector>

#include "policy/policy.h"

namespace sluice {

// The most trials that one program of the study may train, by what the study's file and its
// programs say. 1: its trials are not fused.
int MostFused(const StudyView& study);
// `capacity` is what its programs have said that they take, or 0.
int MostFused(const Demand& demand, int capacity);

// How many trials of a study are worth training in one program.
class Fusion {
 public:
  Fusion(const SpeedModel& speeds, const StudyView& study);

  // The throughput of a program with this many trials, as a multiple of the throughput of one trial
  // alone. It comes from measurements, on the kind of device with the most measurements. Before
  // there are any, it comes from a table (HydroFusion) on devices. On cores, each trial then counts
  // as fast as a trial alone.
  double Throughput(int trials) const;
  // The largest number of trials worth fusing: twice as many trials bring less than a tenth more
  // throughput. At most MostFused.
  int knee() const { return knee_; }
  // The speed of a program with this many trials on this device, as a fraction of its speed on a
  // device of the same kind that is not lent. It comes from measurements. Before there are any, it
  // is the fraction of time for which the device is open. 1 if the device is not lent.
  double Quickness(const Device& device, int trials) const;
  // As many trials as the memory of the device holds, but no more than the knee; 0: not even one.
  int MostOn(const Device& device) const;
  // The devices that are not lent, are not held by a trial of another study, and have memory for at
  // least one trial.
  std::vector<const Device*> Home(const Cluster& cluster, const WorkView& work) const;
  // What a member of a bundle holds. The members hold the whole device together.
  Grant GrantOn(NodeId node, DeviceId device, BundleId bundle) const;
  // The same without a device: the members share the cores of one trial.
  Grant GrantOnCores(NodeId node, BundleId bundle) const;

 private:
  double SpeedOfEach(int trials) const;

  const SpeedModel& speeds_;
  const StudyView& study_;
  std::string kind_;  // of the devices on which throughputs are compared
  double alone_ = 1;  // the speed of one trial alone
  int knee_ = 1;
};

}  // namespace sluice
