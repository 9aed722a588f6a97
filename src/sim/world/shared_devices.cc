#include "sim/world/shared_devices.h"

#include <algorithm>

namespace sluice {

SharedDevices::SharedDevices(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    first_.push_back(devices_.size());
    for (const Device& device : node.devices)
      devices_.push_back({.device = &device, .used_bytes = 0, .tenants = {}});
  }
}

std::int64_t SharedDevices::FreeBytes(const Grant& grant, DeviceId device) const {
  const State& state = devices_[IndexOf(grant, device)];
  return state.device->memory_bytes - state.used_bytes;
}

bool SharedDevices::State::Has(BundleId bundle) const {
  return IsSet(bundle) && std::ranges::find(tenants, bundle, &Tenant::bundle) != tenants.end();
}

int SharedDevices::Fused(const Grant& grant, const Tenant& tenant) const {
  if (!IsSet(tenant.bundle)) return 1;
  if (grant.devices.empty()) return static_cast<int>(on_cores_.at(tenant.bundle).size());
  const State& state = devices_[IndexOf(grant, grant.devices.front())];
  return static_cast<int>(std::ranges::count(state.tenants, tenant.bundle, &Tenant::bundle));
}

void SharedDevices::Join(const Grant& grant, const Tenant& tenant) {
  if (grant.devices.empty() && IsSet(tenant.bundle))
    on_cores_[tenant.bundle].push_back(tenant.slot);
  for (const DeviceId id : grant.devices) {
    State& state = devices_[IndexOf(grant, id)];
    if (!state.Has(tenant.bundle)) state.used_bytes += tenant.program_bytes;
    state.used_bytes += tenant.bytes;
    state.tenants.push_back(tenant);
  }
}

void SharedDevices::Part(const Grant& grant, const Tenant& tenant) {
  if (grant.devices.empty() && IsSet(tenant.bundle))
    std::erase(on_cores_[tenant.bundle], tenant.slot);
  for (const DeviceId id : grant.devices) {
    State& state = devices_[IndexOf(grant, id)];
    state.used_bytes -= tenant.bytes;
    std::erase_if(state.tenants, [&](const Tenant& each) { return each.slot == tenant.slot; });
    if (!state.Has(tenant.bundle)) state.used_bytes -= tenant.program_bytes;
  }
}

SharedDevices::Others SharedDevices::Neighbours(const Grant& grant, const Tenant& tenant) const {
  Others most;
  for (const DeviceId id : grant.devices) {
    Others others;
    // Added up again each time, always in the same order. So rounding errors do not accumulate, and
    // every machine gets the same sum.
    for (const Tenant& each : devices_[IndexOf(grant, id)].tenants) {
      const bool together = IsSet(tenant.bundle) && each.bundle == tenant.bundle;
      if (each.slot == tenant.slot || together) continue;
      others.busy += each.busy;
      others.bandwidth += each.bandwidth;
    }
    most.busy = std::max(most.busy, others.busy);
    most.bandwidth = std::max(most.bandwidth, others.bandwidth);
  }
  return most;
}

}  // namespace sluice
