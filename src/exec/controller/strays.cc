#include "exec/controller/strays.h"

#include <sys/prctl.h>

#include <vector>

#include "launcher/process.h"

namespace sluice {

Strays::Strays() : adopts_(Children().empty() && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) {}

void Strays::End() const {
  if (adopts_) (void)KillStrays(std::vector<pid_t>(launchers_.begin(), launchers_.end()));
}

}  // namespace sluice
