#include "train/tensor_bound.h"

#include <c10/core/CPUAllocator.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
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

// The files in which a container finds its memory, in each of the two versions there are.
struct Container {
  const char* limit;
  const char* used;
  const char* facts;
  std::string_view files;  // a number among the facts: files that were read, dropped if need be
};
constexpr Container kContainers[] = {
    {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
     "inactive_file"},
    {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
     "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"},
};

std::uint64_t MeasuredBytes() {
  auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
               static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  // Of the container; "max" where it has no limit.
  for (const Container& container : kContainers) {
    std::uint64_t limit = 0;
    if (std::ifstream(container.limit) >> limit) bytes = std::min(bytes, limit);
  }
  return bytes;
}

// The number after this name in a file that has a name and a number in each line.
std::optional<std::uint64_t> NumberIn(const char* path, std::string_view wanted) {
  std::ifstream file(path);
  for (std::string name, rest; file >> name; std::getline(file, rest)) {
    std::uint64_t number = 0;
    if (file >> number && name == wanted) return number;
  }
  return std::nullopt;
}

// What a container may still take, where it has a limit.
std::optional<std::uint64_t> FreeIn(const Container& container) {
  std::uint64_t most = 0;
  std::uint64_t used = 0;
  if (!(std::ifstream(container.limit) >> most) || !(std::ifstream(container.used) >> used))
    return std::nullopt;
  used -= std::min(used, NumberIn(container.facts, container.files).value_or(0));
  return most - std::min(most, used);
}

// What the kernel could give to processes without swapping; all there is if it does not say.
std::uint64_t FreeBytes() {
  std::uint64_t bytes = MemoryBytes();
  if (const auto kib = NumberIn("/proc/meminfo", "MemAvailable:"))
    bytes = std::min(bytes, *kib * 1024);
  for (const Container& container : kContainers)
    if (const auto left = FreeIn(container)) bytes = std::min(bytes, *left);
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

bool IsScarce(const Error& error) {
  return error.code == ErrorCode::kOutOfMemory && !error.message.contains(kTooLarge);
}

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
