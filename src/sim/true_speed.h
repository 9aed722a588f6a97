#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"
#include "cluster/speed_table.h"

namespace sluice {

// How a study's trials use devices.
struct WorkloadSpec {
  double seconds_per_unit = 1;  // for a trial alone on one whole device of the kind `on`
  std::string on = "A100";      // empty: on processor cores
  double spread = 0;            // between trials: the standard deviation of that time's logarithm
  SpeedTable widths;            // the speed-up that more devices bring
  double busy = 1;              // the part of a device `on` that one trial alone keeps busy
  std::map<std::string, double> busy_on;  // the same on other kinds, where it was measured
  double bandwidth = 0;  // the part of a device's memory bandwidth that one trial alone uses
  // How much slower a trial is beside neighbours that keep a whole device busy.
  double interference = 0;
  std::map<std::string, double> speeds;  // of device kinds, relative to `on`; before the table
  std::int64_t memory_bytes = 0;         // that a trial takes on each of its devices
  Duration start_up{0};                  // before the first step of any launch
  Duration save{0};                      // of a checkpoint
  Duration restore{0};  // on top of the start-up, of a launch that resumes from a checkpoint
  std::int64_t checkpoint_bytes = 0;
  std::int64_t report_every = 1;      // units of work
  std::int64_t ends_after = 0;        // units of work at which the program ends by itself; 0: never
  SpeedTable fusion = HydroFusion();  // the speed-up of several trials in one program, all together
  std::int64_t fused_bytes = 0;       // memory that each further trial in the program takes
  Duration segment = std::chrono::milliseconds(5);  // the part of a step that is not interrupted
  bool profiled = false;  // a short run on each kind of device was measured before the study begins
};

// How fast the simulated devices really are, as opposed to what a SpeedModel believes.
//
// - Kind: `speeds`, else the table of device_kind.h. The table has speeds for light and for heavy
//   trials; they are mixed by how busy the trial keeps the device.
// - Width: the elastic table (HyperSched's measurements, or the scenario's own). If a trial has
//   devices of several kinds, all are as slow as the slowest, as in data-parallel training.
// - Shares: a share is a cap (as CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is). A trial that alone keeps
//   half a device busy runs at full speed with a share of 0.5, at half its speed with 0.25. On a
//   quicker device a trial keeps a smaller part busy: the part on `on`, times how much quicker the
//   trial runs, divided by how much quicker the device is. A measured part (`busy_on`) replaces it.
//   (HyperSack's 0.37 on an A100 gives 0.28 on an H100; HyperSack measured 0.25.)
// - Neighbours: each unit of compute that the others on the device keep busy costs `interference`
//   of a trial's time. If all trials on the device together want more compute, or more memory
//   bandwidth, than there is, each gets its proportional part. Sources: on an H200 under MPS, 4
//   processes of a small ResNet do 4.1 times the work of one, and 12 processes do 10.2 times the
//   work (almost no interference while there is room). A stage of a GPT beside a guest that never
//   stops takes 175 ms instead of 105 ms (the device is over-committed).
// - Fused: F trials in one program do fusion.At(F) times the work of one, on cores too.
class TrueSpeed {
 public:
  struct Circumstances {
    std::string kind;  // of its slowest device; empty: cores alone
    double width = 1;  // devices, or the share of one; without devices an elastic trial's cores
    int fused = 1;     // trials in its program
    double neighbours = 0;   // the part of its fullest device that other trials keep busy
    double others_move = 0;  // the part of a device's memory bandwidth that other trials use
  };

  explicit TrueSpeed(WorkloadSpec workload) : workload_(std::move(workload)) {}

  // Units of work a second of one trial, without the trial's own factor (`spread`).
  double Of(const Circumstances& at) const;
  // The part of a device of this kind that a trial of this width keeps busy without neighbours.
  double Busy(const std::string& kind, double width) const;
  // How fast a trial is on a device of this kind, relative to the kind `on`.
  double KindSpeed(const std::string& kind) const;

  const WorkloadSpec& workload() const { return workload_; }

 private:
  WorkloadSpec workload_;
};

}  // namespace sluice
