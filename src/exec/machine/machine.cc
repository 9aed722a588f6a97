#include "exec/machine/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>

#include "exec/machine/limits.h"
#include "exec/machine/nvml.h"

namespace sluice {

namespace {

std::optional<std::int64_t> Integer(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Visits the folder of a control group and the folders above it, because the limits of the groups
// above a group apply to it too. In a container the path may be the one on the host; then only the
// root of the mount exists.
template <typename Visit>
void ForEachFolder(const std::string& mount, std::string path, const Visit& visit) {
  while (!path.empty() && path != "/") {
    visit(mount + path);
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  visit(mount);
}

template <typename T>
void Tighten(T& limit, std::optional<T> other) {
  if (other) limit = std::min(limit, *other);
}

struct Limits {
  Milli cpus = std::numeric_limits<Milli>::max();
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();
};

Limits CgroupLimits() {
  Limits limits;
  const std::string groups = ReadText("/proc/self/cgroup");
  if (const auto path = CgroupPath(groups, "")) {
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      ForEachFolder(mount, *path, [&](const std::string& folder) {
        Tighten(limits.cpus, CpuMax(ReadText(folder + "/cpu.max")));
        Tighten(limits.memory_bytes, MemoryMax(ReadText(folder + "/memory.max")));
      });
    }
  }
  if (const auto path = CgroupPath(groups, "cpu")) {
    for (const char* mount : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
      ForEachFolder(mount, *path, [&](const std::string& folder) {
        Tighten(limits.cpus, CpuQuota(ReadText(folder + "/cpu.cfs_quota_us"),
                                      ReadText(folder + "/cpu.cfs_period_us")));
      });
    }
  }
  if (const auto path = CgroupPath(groups, "memory")) {
    ForEachFolder("/sys/fs/cgroup/memory", *path, [&](const std::string& folder) {
      Tighten(limits.memory_bytes, MemoryMax(ReadText(folder + "/memory.limit_in_bytes")));
    });
  }
  return limits;
}

// The number of processors that this process may use. A machine may have more processors than a
// cpu_set_t has bits, so larger and larger sets are tried.
int AllowedProcessors() {
  for (int bits = 1024; bits <= 1 << 20; bits *= 4) {
    const std::size_t size = CPU_ALLOC_SIZE(bits);
    const auto release = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(release)> set(CPU_ALLOC(bits), release);
    if (sched_getaffinity(0, size, set.get()) == 0)
      return std::max(1, CPU_COUNT_S(size, set.get()));
  }
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace

std::optional<std::string> CgroupPath(std::string_view proc_self_cgroup,
                                      std::string_view controller) {
  std::string_view rest = proc_self_cgroup;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    std::string_view names = line.substr(first + 1, second - first - 1);
    const bool version2 = line.substr(0, first) == "0" && names.empty();
    bool found = controller.empty() && version2;
    while (!names.empty() && !controller.empty()) {
      const std::string_view name = names.substr(0, names.find(','));
      names.remove_prefix(std::min(name.size() + 1, names.size()));
      found = found || name == controller;
    }
    if (found) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

std::optional<Milli> CpuMax(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return CpuQuota(text.substr(0, blank), text.substr(blank + 1));
}

std::optional<Milli> CpuQuota(std::string_view quota_us, std::string_view period_us) {
  const auto quota = Integer(quota_us);
  const auto period = Integer(period_us);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  if (*quota > std::numeric_limits<std::int64_t>::max() / kWhole) return std::nullopt;
  return std::max<Milli>(*quota * kWhole / *period, 1);
}

std::optional<std::int64_t> MemoryMax(std::string_view text) {
  // Without a limit, cgroup version 1 writes nearly 2^63 bytes.
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;
  const auto bytes = Integer(text);
  if (!bytes || *bytes <= 0 || *bytes >= kUnlimited) return std::nullopt;
  return bytes;
}

std::int64_t MemoryTotal(std::string_view meminfo) {
  constexpr std::string_view kKey = "MemTotal:";
  const std::size_t at = meminfo.find(kKey);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = meminfo.substr(at + kKey.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto kibibytes = Integer(rest.substr(0, rest.find_first_of(" \n")));
  return kibibytes.value_or(0) * 1024;
}

Machine InspectMachine(const StudyWorld& world) {
  const Limits limits = CgroupLimits();
  Machine machine;
  machine.node.name = HostName();
  machine.node.cpus = std::min<Milli>(AllowedProcessors() * kWhole, limits.cpus);
  machine.memory_bytes = std::min(MemoryTotal(ReadText("/proc/meminfo")), limits.memory_bytes);
  const std::optional<std::string> visible = world.Find("CUDA_VISIBLE_DEVICES");
  GpuList gpus = VisibleGpus(ListGpus(), visible);
  machine.node.devices = std::move(gpus.devices);
  machine.driver = std::move(gpus.driver);
  machine.gpu_note = std::move(gpus.note);
  return machine;
}

}  // namespace sluice
