#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"

namespace sluice {

// What the NVIDIA driver says of this machine, asked through its management library, which is
// loaded if it is there.
struct GpuList {
  std::string driver;           // its version; "" without one
  std::vector<Device> devices;  // in the driver's order
  std::string note;             // why there are none, or not all, in plain words
};

GpuList ListGpus(const char* library = "libnvidia-ml.so.1");

// Keeps the GPUs that CUDA_VISIBLE_DEVICES, if set, lets a program see, in the order it names them.
// `note` says how many it hides. The entries are read as the CUDA runtime reads them: numbers count
// in the driver's order, and "GPU-..." may be the beginning of a UUID if only one begins so.
// Entries after the first that names no device are ignored. A device named twice counts once.
GpuList VisibleGpus(GpuList all, std::optional<std::string_view> cuda_visible_devices);

// "NVIDIA H200" -> "H200"
std::string DeviceKind(std::string_view product);

}  // namespace sluice
