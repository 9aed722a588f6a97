#include "sim/shared_devices.h"

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

void SharedDevices::Join(const Grant& grant, const Tenant& tenant) {
  for (const DeviceId id : grant.devices) {
    State& state = devices_[IndexOf(grant, id)];
    state.used_bytes += tenant.bytes;
    state.tenants.push_back(tenant);
  }
}

void SharedDevices::Part(const Grant& grant, const Tenant& tenant) {
  for (const DeviceId id : grant.devices) {
    State& state = devices_[IndexOf(grant, id)];
    state.used_bytes -= tenant.bytes;
    std::erase_if(state.tenants, [&](const Tenant& each) { return each.slot == tenant.slot; });
  }
}

double SharedDevices::Neighbours(const Grant& grant, const Tenant& tenant) const {
  double most = 0;
  for (const DeviceId id : grant.devices) {
    double others = -tenant.busy;
    // Added up afresh each time, in order: no drift, and the same on every machine.
    for (const Tenant& each : devices_[IndexOf(grant, id)].tenants) others += each.busy;
    most = std::max(most, others);
  }
  return most;
}

}  // namespace sluice
