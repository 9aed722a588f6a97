#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cluster/demand.h"

namespace sluice {

// A training job whose layers are divided into stages, one stage on each device. It follows the
// 1F1B schedule (one forward pass, one backward pass).
struct PipelineSpec {
  std::string name;
  std::string kind;  // of its devices
  int stages = 0;
  int micro_batches = 0;          // in a step
  std::vector<Duration> forward;  // of one micro-batch, for each stage
  std::vector<Duration> backward;
  Duration transfer{0};  // from stage to stage
  Duration update{0};    // of the weights, on every stage, after its last backward pass
  std::vector<std::int64_t> free_bytes;  // device memory each stage leaves unused
  int replicas = 1;                      // of the whole pipeline, in parallel
  int lends = 0;                         // how many of all their devices are lent during bubbles
  Milli cpus_lent = 4 * kWhole;          // with each lent device
  // How much of each bubble a guest (a trial on a lent device) cannot use: the time until it starts
  // to work, plus the margin that it leaves at the end.
  Duration gate = std::chrono::microseconds(200);
};

// A stretch of a step in which a stage has nothing to do. Steps follow each other without a pause,
// so idle time at the end of one step and idle time at the beginning of the next form one window.
// That window is listed once, at the end of the step, and closes beyond the step's length.
struct BubbleWindow {
  int stage = 0;
  Duration opens{0};
  Duration closes{0};
  std::int64_t free_bytes = 0;
  Duration length() const { return closes - opens; }
};

// One step of a job with p stages and m micro-batches, computed from the dependencies of its
// passes. On stage s (from 0) the first min(m, p - s) micro-batches go forward, then backward and
// forward passes take turns, then the remaining micro-batches go backward. A forward pass waits for
// the forward pass of its micro-batch on stage s - 1. A backward pass waits for the backward pass
// of its micro-batch on stage s + 1. All stages begin the next step together, as in synchronous
// training (a flush).
class PipelineSchedule {
 public:
  struct Pass {
    int micro_batch = 0;
    bool backward = false;
    Duration begins{0};
    Duration ends{0};
  };

  // Fails with invalid_argument if there are no stages or no micro-batches, if a pass takes no
  // time, or if a size or a time is too large.
  static Result<PipelineSchedule> Make(PipelineSpec spec);

  const PipelineSpec& spec() const { return spec_; }
  Duration step() const { return step_; }
  // The passes of a stage in a step, in order.
  const std::vector<Pass>& passes(int stage) const {
    return passes_[static_cast<std::size_t>(stage)];
  }
  // Sorted by stage, then by opening time.
  const std::vector<BubbleWindow>& windows() const { return windows_; }
  // The idle part of all stages' time: (p - 1)/(m + p - 1) for stages that are alike, without
  // transfers and updates.
  double bubble_share() const;
  // The idle part of one stage's time.
  double idle_share(int stage) const;
  // The part of the time in which a guest on this stage's device works. The guest works in segments
  // of this length, and starts a segment only if the segment ends before the bubble closes. With
  // length 0 the guest can stop at any moment.
  double usable_share(int stage, Duration segment) const;

 private:
  explicit PipelineSchedule(PipelineSpec spec) : spec_(std::move(spec)) {}
  void Run();
  void FindWindows();

  PipelineSpec spec_;
  Duration step_{0};
  std::vector<std::vector<Pass>> passes_;
  std::vector<BubbleWindow> windows_;
};

}  // namespace sluice
