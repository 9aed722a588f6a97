#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/cluster.h"

namespace sluice {

// What the kernel's files say of the limits of this process.

// Where this process stands in the kernel's control groups, from the text of /proc/self/cgroup: the
// folder of version 2 (controller ""), or of a controller of version 1 ("cpu", "memory").
std::optional<std::string> CgroupPath(std::string_view proc_self_cgroup,
                                      std::string_view controller);
// Thousandths of a core that version 2's cpu.max ("150000 100000") or version 1's quota and period
// allow; nothing: no limit.
std::optional<Milli> CpuMax(std::string_view text);
std::optional<Milli> CpuQuota(std::string_view quota_us, std::string_view period_us);
// What memory.max or memory.limit_in_bytes allow; nothing: no limit.
std::optional<std::int64_t> MemoryMax(std::string_view text);
// MemTotal of /proc/meminfo; 0 if it is not there.
std::int64_t MemoryTotal(std::string_view meminfo);

}  // namespace sluice
