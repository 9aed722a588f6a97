#pragma once

#include <string>

#include "base/result.h"
#include "ledger/lock.h"
#include "ledger/store.h"

namespace sluice {

// What the store's lock says of a process that runs a controller.
inline constexpr const char* kControllerPurpose = "running studies";
inline bool IsController(const LockHolder& holder) { return holder.purpose == kControllerPurpose; }

// The path of sluice-launcher. Fails with failed_precondition if it is not beside this program.
Result<std::string> FindLauncher();

// Runs the controller of a store in this process until nothing is left to do. Prints "ready" to
// standard output once it accepts connections, and closes standard output. After that, standard
// error is the file `log`, unless that is empty.
Status RunController(const StorePaths& paths, const std::string& version, const std::string& log);

}  // namespace sluice
