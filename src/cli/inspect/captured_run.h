#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sluice {

// What a program that was run to its end has printed.
struct CapturedRun {
  std::string output;  // standard output and error as they came; no more than kMostOutput bytes
  int exit_status = 0;

  static constexpr std::size_t kMostOutput = 1 << 16;
};

// Runs a program in this folder, with this process's environment and no input, and waits for its
// end. Fails with unavailable if it cannot be started, is ended by a signal, or takes longer than
// `patience`, after which it is killed. Ctrl-C in a terminal reaches the program as it reaches this
// process.
Result<CapturedRun> RunCaptured(const std::vector<std::string>& words, const std::string& folder,
                                Duration patience);

}  // namespace sluice
