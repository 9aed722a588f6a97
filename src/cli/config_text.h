#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// The text of a file written by hand, of at most kMaxConfigBytes. `what` says in messages what the
// file should be, such as "a study file". Fails with not_found if there is no file, and with
// invalid_argument if the file cannot be read or is too large. An endless device, such as
// /dev/zero, is too large.
Result<std::string> ReadConfigText(const std::string& path, std::string_view what);

}  // namespace sluice
