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
  return {};
}

Status CheckFits(const StudySpec& spec, const Node& node, const std::string& whose) {
  Cluster cluster;
  cluster.Join(node);
  if (FitsEmpty(cluster, spec.demand)) return {};
  Demand without = spec.demand;
  without.memory_bytes = 0;
  if (FitsEmpty(cluster, without)) {
    return FailedPrecondition(
        fmt::format("a trial of '{}' needs {:.4g} GB of GPU memory, and no GPU of {} has as much: "
                    "lower 'memory' under 'resources' in the study file",
                    spec.name, static_cast<double>(spec.demand.memory_bytes) / 1e9, whose));
  }
  return FailedPrecondition(fmt::format(
      "a trial of '{}' needs {} cpus and {} gpus, {} has {} and {}: lower 'resources' in the "
      "study file",
      spec.name, static_cast<double>(spec.demand.cpus) / kWhole,
      static_cast<double>(spec.demand.gpus) / kWhole, whose,
      static_cast<double>(node.cpus) / kWhole, node.devices.size()));
}

}  // namespace sluice
