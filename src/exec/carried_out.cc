#include "exec/carried_out.h"

#include <fmt/format.h>

#include "policy/policy_table.h"

namespace sluice {

Status CheckCarriedOut(const StudySpec& spec) {
  const PolicyAbilities& can = TraitsOf(spec.policy).can;
  const bool packs = can.packs == Packing::kAlways ||
                     (can.packs == Packing::kByProfile && spec.demand.kinds != nullptr);
  if (packs && spec.demand.gpus > 0) {
    return FailedPrecondition(fmt::format(
        "policy: {} packs trials onto a GPU by shares of compute and memory that MPS has to "
        "enforce, and Sluice does not start MPS servers yet: try it with 'sluice simulate', and "
        "tune with fifo and 'resources: {{gpus: 0.5}}'",
        spec.policy));
  }
  if (!spec.transfer.empty()) {
    return FailedPrecondition(
        "transfer: a study that trains the best of another runs beside it, and Sluice runs one "
        "study "
        "at a time yet: try it with 'sluice simulate', and tune by hand what 'sluice best' shows");
  }
  return {};
}

}  // namespace sluice
