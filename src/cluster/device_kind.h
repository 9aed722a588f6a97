#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// A kind of accelerator: its speed relative to an A100, and its memory.
//
// There are two speeds. A job that keeps a device busy gains more from a faster device than a job
// that mostly waits for its host:
// - heavy: dense training that fills the device. The ratio of V100 to A100 is that of NVIDIA's own
//   ResNet-50 v1.5 in mixed precision (DeepLearningExamples, PyTorch 21.03: 1,200 and 2,470
//   images/s on one GPU, 2.06x). The ratios of A100, H100 and H200 are those of the memory
//   bandwidths in their data sheets (SXM: 2.04, 3.35, 4.8 TB/s).
// - light: small models, limited by kernel launches and data loaders. HyperSack's mean job takes 79
//   s on an A100 and 64 s on an H100: 1.234x, which is 1.64 to the power 0.425. The light speeds of
//   the other kinds are their heavy speeds to the same power.
struct DeviceKind {
  std::string_view name;
  double heavy_speed = 1;
  double light_speed = 1;
  std::int64_t memory_bytes = 0;  // of the usual variant
};

// V100, A100, H100, H200, slowest first.
const std::vector<DeviceKind>& DeviceKinds();
const std::vector<std::string>& DeviceKindNames();

// Null for a kind that is not in the table.
const DeviceKind* FindDeviceKind(std::string_view name);

// The speed of `kind` relative to `from`, for jobs that alone keep a device of the kind `from` busy
// for the fraction `busy` of the time. For `busy` up to 0.37, which is what HyperSack's mean job
// takes of an A100, it is the ratio of the light speeds. For 1 it is the ratio of the heavy speeds.
// In between it is interpolated linearly. A kind that is not in the table counts as an A100.
double RelativeSpeed(std::string_view kind, std::string_view from, double busy);

}  // namespace sluice
