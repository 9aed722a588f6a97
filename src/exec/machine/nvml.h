#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"

namespace sluice {

// The GPUs that the NVIDIA driver finds on this machine. The driver is asked through its management
// library (NVML), which is loaded at run time if it is installed.
struct GpuList {
  std::string driver;           // version of the driver; "": there is no driver
  std::vector<Device> devices;  // in the driver's order
  std::string note;             // why some or all GPUs are missing, in plain words; "": none is
};

GpuList ListGpus(const char* library = "libnvidia-ml.so.1");

// Keeps the GPUs that CUDA_VISIBLE_DEVICES names, in its order. If the variable is not set, keeps
// all. `note` says how many GPUs are hidden. The entries of the variable are read as the CUDA
// runtime reads them. A number is an index in the driver's order. "GPU-..." names the device whose
// UUID begins with this text, if there is exactly one. An entry that names no device ends the list.
// A device that is named twice counts once.
GpuList VisibleGpus(GpuList all, std::optional<std::string_view> cuda_visible_devices);

// The name of a product without its maker: "H200" for "NVIDIA H200".
std::string DeviceKind(std::string_view product);

}  // namespace sluice
