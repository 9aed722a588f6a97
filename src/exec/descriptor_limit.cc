#include "exec/descriptor_limit.h"

namespace sluice {

rlim_t DescriptorLimitAtStart() {
  static const rlim_t limit = [] {
    rlimit now{};
    return getrlimit(RLIMIT_NOFILE, &now) == 0 ? now.rlim_cur : RLIM_INFINITY;
  }();
  return limit;
}

void RaiseDescriptorLimit() {
  (void)DescriptorLimitAtStart();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);  // if it fails, fewer trials run side by side
}

}  // namespace sluice
