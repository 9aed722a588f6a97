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
// - heavy: dense training that fills the device. V100 to A100 is NVIDIA's own ResNet-50 v1.5 in
//   mixed precision (DeepLearningExamples, PyTorch 21.03: 1,200 and 2,470 images/s on one GPU,
//   2.06x). A100 to H100 to H200 is the memory bandwidth of their data sheets (SXM: 2.04, 3.35, 4.8
//   TB/s).
// - light: small models, bound by kernel launches and data loaders. HyperSack's mean job takes 79 s
//   on an A100 and 64 s on an H100: 1.234x, which is 1.64 to the power 0.425. The light speeds of
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
// for the fraction `busy` of the time. Up to 0.37, which is what HyperSack's mean job takes of an
// A100, it is the ratio of light speeds. At 1 it is the ratio of heavy speeds, and in between it is
// interpolated linearly. A kind that is not in the table counts as an A100.
double RelativeSpeed(std::string_view kind, std::string_view from, double busy);

}  // namespace sluice
