#pragma once

#include <sys/resource.h>

namespace sluice {

// The limit of descriptors that this process was started with. The first call reads it, so that it
// stays the same once the limit is raised.
rlim_t DescriptorLimitAtStart();

// Raises this process's limit of descriptors to what the system allows: each running trial holds a
// pidfd and a connection. Programs do not get the raised limit, because a program may use select(),
// which fails with large descriptors.
void RaiseDescriptorLimit();

}  // namespace sluice
