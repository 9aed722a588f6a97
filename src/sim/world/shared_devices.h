#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cluster/cluster.h"

namespace sluice {

// A launch that holds devices, or is in a bundle on cores, and what it takes from its neighbours.
struct Tenant {
  std::uint32_t slot = 0;
  double busy = 0;                 // the part of each of its devices that it keeps busy
  double bandwidth = 0;            // the part of their memory's bandwidth that it uses
  std::int64_t bytes = 0;          // memory of its own, on each device
  BundleId bundle{};               // the launches of a bundle are one program
  std::int64_t program_bytes = 0;  // memory that the program of the bundle takes once
};

// The devices of a world, in the nodes' order, and the launches that share them. Launches on cores
// share only the program of their bundle.
class SharedDevices {
 public:
  // The nodes must outlive this object.
  explicit SharedDevices(const std::vector<Node>& nodes);

  std::size_t size() const { return devices_.size(); }
  std::size_t IndexOf(const Grant& grant, DeviceId device) const {
    return first_[Number(grant.node) - 1] + Number(device);
  }
  const Device& at(const Grant& grant, DeviceId device) const {
    return *devices_[IndexOf(grant, device)].device;
  }
  std::int64_t FreeBytes(const Grant& grant, DeviceId device) const;

  void Join(const Grant& grant, const Tenant& tenant);
  void Part(const Grant& grant, const Tenant& tenant);
  // What neighbours take of the tenant's devices: compute and bandwidth, each on the device where
  // they take most. Launches of the tenant's own bundle are no neighbours.
  struct Others {
    double busy = 0;
    double bandwidth = 0;
  };
  Others Neighbours(const Grant& grant, const Tenant& tenant) const;
  // The number of launches in the tenant's bundle, the tenant included; 1 without a bundle.
  int Fused(const Grant& grant, const Tenant& tenant) const;
  // Whether a launch of the grant's bundle is on the grant's devices. False for a grant of cores.
  bool Has(const Grant& grant) const {
    return !grant.devices.empty() &&
           devices_[IndexOf(grant, grant.devices.front())].Has(grant.bundle);
  }
  // Calls visit(slot) for each other launch on a device of the grant: once for each device that the
  // launch has in common with the grant. Without devices, for each other launch of the bundle.
  template <typename Visit>
  void ForOthers(const Grant& grant, std::uint32_t slot, Visit visit) const {
    if (const auto bundle = on_cores_.find(grant.bundle);
        grant.devices.empty() && bundle != on_cores_.end()) {
      for (const std::uint32_t other : bundle->second)
        if (other != slot) visit(other);
    }
    for (const DeviceId id : grant.devices) {
      for (const Tenant& tenant : devices_[IndexOf(grant, id)].tenants) {
        if (tenant.slot != slot) visit(tenant.slot);
      }
    }
  }

 private:
  struct State {
    bool Has(BundleId bundle) const;

    const Device* device = nullptr;
    std::int64_t used_bytes = 0;
    std::vector<Tenant> tenants;
  };

  std::vector<std::size_t> first_;  // the index of each node's first device
  std::vector<State> devices_;
  std::map<BundleId, std::vector<std::uint32_t>> on_cores_;  // the launches of bundles on cores
};

}  // namespace sluice
