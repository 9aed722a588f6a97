#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace sluice {

// A program whose output goes to a stream of this process.
struct PrintingProgram {
  std::string path;
  std::vector<std::string> words;
  std::string folder;  // that it runs in
  int prints_to = -1;  // the descriptor that gets all that it prints
  // In a session of its own, with signals as they are by default, and with no other descriptor: it
  // may outlive this process and its terminal.
  bool detached = false;
};

// Starts the program with the environment of this process, and with nothing to read. Returns its
// pid. Fails with unavailable.
Result<pid_t> StartPrinting(const PrintingProgram& program);

}  // namespace sluice
