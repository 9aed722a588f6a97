#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// A kind of accelerator: how quick one is beside an A100, and how much it holds.
//
// Two speeds, since a job that keeps a device busy gains more from a quicker one than a job that
// mostly waits for its host:
// - heavy: dense training that fills the device. V100 to A100 is NVIDIA's own ResNet-50 v1.5 in mixed
//   precision (DeepLearningExamples, PyTorch 21.03: 1,200 and 2,470 images/s on one GPU, 2.06x); A100
//   to H100 to H200 is the memory bandwidth of their data sheets (SXM: 2.04, 3.35, 4.8 TB/s).
// - light: small models, bound by launches and loaders. HyperSack's mean job takes 79 s on an A100
//   and 64 s on an H100: 1.234x, which is 1.64 to the power 0.425. The others are their heavy speed to
//   the same power.
struct DeviceKind {
  std::string_view name;
  double heavy_speed = 1;
  double light_speed = 1;
  std::int64_t memory_bytes = 0;  // of the usual variant
};

// V100, A100, H100, H200, slowest first.
const std::vector<DeviceKind>& DeviceKinds();
const std::vector<std::string>& DeviceKindNames();

// Nothing for a kind that is not in the table.
const DeviceKind* FindDeviceKind(std::string_view name);

// How quick a kind is beside another at jobs that alone keep a device of the kind `from` busy for
// this part of the time: the light speed up to 0.37, which is what HyperSack's mean job takes of an
// A100, the heavy one at 1, in proportion between. Kinds that are not in the table count as an A100.
double RelativeSpeed(std::string_view kind, std::string_view from, double busy);

}  // namespace sluice
