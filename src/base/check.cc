#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sluice {

void CheckFailed(const char* file, int line, const char* condition, const char* invariant) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s (%s)\n", file, line, invariant, condition);
  std::abort();
}

}  // namespace sluice
