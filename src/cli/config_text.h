#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// The text of a file written by hand, of at most kMaxConfigBytes. `what` says in messages what the
// file should be: "a study file". Fails with not_found if there is no file, and with
// invalid_argument if it cannot be read. Reading an endless device stops at the limit.
Result<std::string> ReadConfigText(const std::string& path, std::string_view what);

}  // namespace sluice
