#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/cluster.h"

namespace sluice {

// Readers of the kernel's files about the limits of this process.

// The folder of this process's control group, from the text of /proc/self/cgroup. `controller` is
// "" for control groups of version 2, and "cpu" or "memory" for those of version 1.
std::optional<std::string> CgroupPath(std::string_view proc_self_cgroup,
                                      std::string_view controller);
// How many thousandths of a core may be used, from the text of cpu.max ("150000 100000", version 2)
// or from a quota and a period in microseconds (version 1). Nothing if there is no limit.
std::optional<Milli> CpuMax(std::string_view text);
std::optional<Milli> CpuQuota(std::string_view quota_us, std::string_view period_us);
// How many bytes of memory may be used, from the text of memory.max (version 2) or
// memory.limit_in_bytes (version 1). Nothing if there is no limit.
std::optional<std::int64_t> MemoryMax(std::string_view text);
// The bytes of MemTotal in the text of /proc/meminfo; 0 if the text has no MemTotal.
std::int64_t MemoryTotal(std::string_view meminfo);

}  // namespace sluice
