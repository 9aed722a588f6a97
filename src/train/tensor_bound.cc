#include "train/tensor_bound.h"

#include <c10/core/CPUAllocator.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace sluice::train {
namespace {

constexpr std::string_view kTooLarge = "not enough memory: a tensor would take";

[[noreturn]] void RefuseBytes(double bytes) {
  TORCH_CHECK_WITH(OutOfMemoryError, false,
                   fmt::format("{} {:.1f} GiB, and this machine has {:.1f} GiB", kTooLarge,
                               bytes / 0x1p30, static_cast<double>(MemoryBytes()) / 0x1p30));
}

class BoundedAllocator : public at::Allocator {
 public:
  explicit BoundedAllocator(at::Allocator& inner) : inner_(inner) {}

  at::DataPtr allocate(std::size_t bytes) override {
    if (bytes > MemoryBytes()) RefuseBytes(static_cast<double>(bytes));
    return inner_.allocate(bytes);
  }
  at::DeleterFnPtr raw_deleter() const override { return inner_.raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    inner_.copy_data(to, from, count);
  }

 private:
  at::Allocator& inner_;
};

std::uint64_t MeasuredBytes() {
  auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
               static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  // Of the container; "max" where it has no limit.
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::uint64_t limit = 0;
    if (std::ifstream(path) >> limit) bytes = std::min(bytes, limit);
  }
  return bytes;
}

// What the kernel could give to processes without swapping; all there is if it does not say.
std::uint64_t FreeBytes() {
  std::uint64_t bytes = MemoryBytes();
  std::ifstream file("/proc/meminfo");
  for (std::string name, unit; file >> name;) {
    std::uint64_t kib = 0;
    file >> kib;
    std::getline(file, unit);
    if (name == "MemAvailable:") bytes = std::min(bytes, kib * 1024);
  }
  return bytes;
}

}  // namespace

std::uint64_t MemoryBytes() {
  static const std::uint64_t bytes = MeasuredBytes();
  return bytes;
}

void BoundTensors() {
  // It lives as long as the tensors, which may be freed at the end of the process.
  static auto& bounded = *new BoundedAllocator(*c10::GetCPUAllocator());
  c10::SetCPUAllocator(&bounded);
}

bool IsTooLarge(const Error& error) { return error.message.contains(kTooLarge); }

void LimitMemory() {
  rlimit data{};
  if (getrlimit(RLIMIT_DATA, &data) != 0) return;
  data.rlim_cur = std::min<rlim_t>(data.rlim_cur, FreeBytes());
  (void)setrlimit(RLIMIT_DATA, &data);  // if it fails, the kernel's own bounds are left
}

void CheckBound(const at::Tensor& tensor) {
  if (!tensor.defined()) return;
  const double bytes = static_cast<double>(tensor.numel()) * static_cast<double>(tensor.itemsize());
  if (bytes <= static_cast<double>(MemoryBytes())) return;
  // What lies in memory is there, if need be in that of another device.
  const bool shows_more =
      !tensor.has_storage() || static_cast<double>(tensor.storage().nbytes()) < bytes;
  if (shows_more) RefuseBytes(bytes);
}

}  // namespace sluice::train
