#pragma once

namespace sluice {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const char* invariant);

}  // namespace sluice

// Checks an invariant, in every build, and aborts the process if it is broken. That is a bug in
// Sluice, never the user's mistake. The invariant is given in words:
// SLUICE_CHECK(free >= 0, "a device is never over-committed");
#define SLUICE_CHECK(condition, invariant)                              \
  do {                                                                  \
    if (!(condition)) [[unlikely]] {                                    \
      ::sluice::CheckFailed(__FILE__, __LINE__, #condition, invariant); \
    }                                                                   \
  } while (false)
