#include "exec/session/interrupts.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <initializer_list>

namespace sluice {

sigset_t InterruptSignals() {
  sigset_t heard;
  sigemptyset(&heard);
  for (const int word : {SIGINT, SIGTERM}) {
    struct sigaction now{};
    if (sigaction(word, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&heard, word);
  }
  return heard;
}

void HoldInterrupts() {
  const sigset_t heard = InterruptSignals();
  pthread_sigmask(SIG_BLOCK, &heard, nullptr);
}

Interrupts::Interrupts() {
  HoldInterrupts();
  const sigset_t heard = InterruptSignals();
  descriptor_ = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
}

Interrupts::~Interrupts() {
  if (descriptor_ >= 0) close(descriptor_);
}

int Interrupts::Take() {
  int count = 0;
  signalfd_siginfo info{};
  while (read(descriptor_, &info, sizeof info) == sizeof info) ++count;
  return count;
}

}  // namespace sluice
