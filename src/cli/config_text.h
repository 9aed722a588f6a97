#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// The text of a file someone wrote by hand, of at most kMaxConfigBytes. `what` it should be is for
// messages: "a study file". Fails with not_found where there is none and invalid_argument where it
// cannot be read; a path that is a device without end does not hold us.
Result<std::string> ReadConfigText(const std::string& path, std::string_view what);

}  // namespace sluice
