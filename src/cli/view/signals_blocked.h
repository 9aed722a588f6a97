#pragma once

#include <signal.h>

namespace sluice {

// Blocks signals on this thread until it is destroyed.
class SignalsBlocked {
 public:
  explicit SignalsBlocked(const sigset_t& signals) {
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace sluice
