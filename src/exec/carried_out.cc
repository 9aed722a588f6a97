#include "exec/carried_out.h"

#include <fmt/format.h>

namespace sluice {

Status CheckCarriedOut(const StudySpec& spec) {
  if (spec.policy.starts_with("hypersack") && spec.demand.gpus > 0) {
    return FailedPrecondition(fmt::format(
        "policy: {} packs trials onto a GPU by shares of compute and memory that MPS has to "
        "enforce, and Sluice does not start MPS servers yet: try it with 'sluice simulate', and "
        "tune with fifo and 'resources: {{gpus: 0.5}}'",
        spec.policy));
  }
  return {};
}

}  // namespace sluice
