#pragma once

#include "wire/message.h"

namespace sluice::wire {

// The launch that tests of the protocol use.
inline constexpr LaunchRef kAt{TrialId(7), LaunchId(2)};

}  // namespace sluice::wire
