#pragma once

#include <signal.h>

namespace sluice {

// What a user sends to a command to pause a study: Ctrl-C, or the signal that ends processes.
// Signals that the parent process has set to be ignored are left out: once blocked, an ignored
// signal would still arrive through a signalfd.
sigset_t InterruptSignals();

// From now on these signals wait until they are read (Interrupts). Called before a study is handed
// over, so that one that comes in between pauses the study, and does not just end the command.
void HoldInterrupts();

// The interrupts that arrive, and those that were held. They are never let through again: once a
// study was paused, a further one has nothing to end.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;

  // Becomes readable with the first interrupt; -1 if the system gives no descriptor.
  int descriptor() const { return descriptor_; }
  // How many have arrived since the last call.
  int Take();

 private:
  int descriptor_;
};

}  // namespace sluice
