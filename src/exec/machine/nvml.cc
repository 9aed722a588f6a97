#include "exec/machine/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "base/text.h"

namespace sluice {
namespace {

// The library's public ABI, as nvml.h declares it: only what is used here.
using NvmlReturn = int;
using NvmlDevice = struct NvmlDeviceHandle*;
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
constexpr NvmlReturn kSuccess = 0;
constexpr NvmlReturn kNoPermission = 4;
constexpr NvmlReturn kDriverNotLoaded = 9;
constexpr NvmlReturn kGpuIsLost = 15;
constexpr NvmlReturn kVersionMismatch = 18;
constexpr unsigned kTextSize = 96;

struct Unload {
  void operator()(void* handle) const { dlclose(handle); }
};

class Nvml {
 public:
  explicit Nvml(void* handle)
      : library_(handle),
        init_(Function<NvmlReturn()>("nvmlInit_v2")),
        shutdown_(Function<NvmlReturn()>("nvmlShutdown")),
        error_string_(Function<const char*(NvmlReturn)>("nvmlErrorString")),
        driver_(Function<NvmlReturn(char*, unsigned)>("nvmlSystemGetDriverVersion")),
        count_(Function<NvmlReturn(unsigned*)>("nvmlDeviceGetCount_v2")),
        device_(Function<NvmlReturn(unsigned, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2")),
        uuid_(Function<NvmlReturn(NvmlDevice, char*, unsigned)>("nvmlDeviceGetUUID")),
        name_(Function<NvmlReturn(NvmlDevice, char*, unsigned)>("nvmlDeviceGetName")),
        memory_(Function<NvmlReturn(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo")) {}
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (begun_) shutdown_();
  }

  bool Complete() const {
    return init_ != nullptr && shutdown_ != nullptr && count_ != nullptr && device_ != nullptr &&
           uuid_ != nullptr;
  }

  NvmlReturn Begin() {
    const NvmlReturn result = init_();
    begun_ = result == kSuccess;
    return result;
  }

  std::string Driver() const {
    std::array<char, kTextSize> text{};
    if (driver_ == nullptr || driver_(text.data(), kTextSize - 1) != kSuccess) return "unknown";
    return text.data();
  }

  NvmlReturn Count(unsigned& count) const { return count_(&count); }

  // Fails for a device without a UUID, because such a device cannot be given to a program.
  NvmlReturn Describe(unsigned index, Device& device) const {
    NvmlDevice handle = nullptr;
    if (const NvmlReturn result = device_(index, &handle); result != kSuccess) return result;
    std::array<char, kTextSize> text{};
    if (const NvmlReturn result = uuid_(handle, text.data(), kTextSize - 1); result != kSuccess)
      return result;
    device.uuid = text.data();
    text = {};
    const bool named = name_ != nullptr && name_(handle, text.data(), kTextSize - 1) == kSuccess;
    device.kind = named ? DeviceKind(text.data()) : "GPU";
    NvmlMemory memory{};
    const bool measured = memory_ != nullptr && memory_(handle, &memory) == kSuccess;
    device.memory_bytes = measured ? static_cast<std::int64_t>(memory.total) : 0;
    return kSuccess;
  }

  std::string Explain(NvmlReturn result) const {
    switch (result) {
      case kNoPermission: return "this user may not use the NVIDIA driver";
      case kDriverNotLoaded: return "the NVIDIA driver is installed but not loaded";
      case kGpuIsLost: return "the GPU has fallen off the bus: reboot";
      case kVersionMismatch:
        return "the NVIDIA driver was updated and its old version is still loaded: reboot";
      default: break;
    }
    const char* text = error_string_ != nullptr ? error_string_(result) : nullptr;
    return fmt::format("the NVIDIA driver answers '{}' (error {})",
                       text != nullptr ? text : "unknown error", result);
  }

 private:
  template <typename Signature>
  Signature* Function(const char* name) const {
    return reinterpret_cast<Signature*>(dlsym(library_.get(), name));
  }

  std::unique_ptr<void, Unload> library_;
  NvmlReturn (*init_)();
  NvmlReturn (*shutdown_)();
  const char* (*error_string_)(NvmlReturn);
  NvmlReturn (*driver_)(char*, unsigned);
  NvmlReturn (*count_)(unsigned*);
  NvmlReturn (*device_)(unsigned, NvmlDevice*);
  NvmlReturn (*uuid_)(NvmlDevice, char*, unsigned);
  NvmlReturn (*name_)(NvmlDevice, char*, unsigned);
  NvmlReturn (*memory_)(NvmlDevice, NvmlMemory*);
  bool begun_ = false;
};

// The device that an entry of CUDA_VISIBLE_DEVICES names; null if there is none.
const Device* FindNamed(const std::vector<Device>& devices, std::string_view entry) {
  if (entry.starts_with("GPU-")) {
    const auto begins = [&](const Device& device) { return device.uuid.starts_with(entry); };
    const auto found = std::ranges::find_if(devices, begins);
    return std::ranges::count_if(devices, begins) == 1 ? &*found : nullptr;
  }
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  const bool number = error == std::errc() && end == entry.data() + entry.size();
  return number && index < devices.size() ? &devices[index] : nullptr;
}

}  // namespace

GpuList ListGpus(const char* library) {
  GpuList list;
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    list.note = fmt::format("no NVIDIA driver on this machine ({} cannot be loaded)", library);
    return list;
  }
  Nvml nvml(handle);
  if (!nvml.Complete()) {
    list.note = fmt::format("the NVIDIA driver is too old ({} lacks what is needed)", library);
    return list;
  }
  if (const NvmlReturn result = nvml.Begin(); result != kSuccess) {
    list.note = nvml.Explain(result);
    return list;
  }
  list.driver = nvml.Driver();
  unsigned count = 0;
  if (const NvmlReturn result = nvml.Count(count); result != kSuccess) {
    list.note = nvml.Explain(result);
    return list;
  }
  if (count == 0) list.note = "the NVIDIA driver finds no GPU";
  for (unsigned index = 0; index < count; ++index) {
    Device device;
    const NvmlReturn result = nvml.Describe(index, device);
    if (result == kSuccess) {
      list.devices.push_back(std::move(device));
    } else {
      list.note = fmt::format("GPU {} is left out: {}", index, nvml.Explain(result));
    }
  }
  return list;
}

GpuList VisibleGpus(GpuList all, std::optional<std::string_view> cuda_visible_devices) {
  if (!cuda_visible_devices || all.devices.empty()) return all;
  std::vector<Device> visible;
  std::string_view rest = *cuda_visible_devices;
  bool more = true;
  while (more) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const Device* device = FindNamed(all.devices, Trimmed(rest.substr(0, comma)));
    if (device == nullptr) break;
    if (std::ranges::find(visible, *device) == visible.end()) visible.push_back(*device);
    if (more) rest.remove_prefix(comma + 1);
  }
  if (visible.size() < all.devices.size()) {
    all.note = fmt::format("CUDA_VISIBLE_DEVICES='{}' hides {} of {} GPUs", *cuda_visible_devices,
                           all.devices.size() - visible.size(), all.devices.size());
  }
  all.devices = std::move(visible);
  return all;
}

std::string DeviceKind(std::string_view product) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (product.starts_with(kMaker)) product.remove_prefix(kMaker.size());
  return std::string(product);
}

}  // namespace sluice
