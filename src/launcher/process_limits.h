#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// What the kernel limits a process by: its umask and its resource limits (man setrlimit). A process
// inherits both from its parent.
struct ProcessLimits {
  ProcessLimits();

  mode_t umask = 0;
  std::array<rlimit, RLIM_NLIMITS>
      resources;  // by number, such as RLIMIT_NOFILE; no limit at first
};

// Those of the calling process. The umask cannot be read without a moment in which it is another,
// so no other thread may make files meanwhile.
ProcessLimits LimitsOfSelf();

// Gives the calling process these limits. A hard limit that may not be raised stays as it is, and
// the soft limit is then at most that.
void ApplyLimits(const ProcessLimits& limits);

// As one line of text, such as "umask=022 cpu=unlimited:unlimited nofile=1024:4096 ...", with the
// soft limit first.
std::string FormatLimits(const ProcessLimits& limits);
// Nothing if the text is not exactly what FormatLimits writes.
std::optional<ProcessLimits> ParseLimits(std::string_view text);

}  // namespace sluice
