#pragma once

#include <cstdint>
#include <vector>

#include "cluster/cluster.h"

namespace sluice {

// Whoever holds devices, as far as others feel it.
struct Tenant {
  std::uint32_t slot = 0;
  double busy = 0;       // what it keeps busy of each of its devices
  double bandwidth = 0;  // and of its memory's bandwidth
  std::int64_t bytes = 0;
  BundleId bundle{};               // with others of it one program
  std::int64_t program_bytes = 0;  // which takes this once
};

// The devices of a world, in the nodes' order, and who shares them.
class SharedDevices {
 public:
  explicit SharedDevices(const std::vector<Node>& nodes);

  std::size_t IndexOf(const Grant& grant, DeviceId device) const {
    return first_[Number(grant.node) - 1] + Number(device);
  }
  const Device& at(const Grant& grant, DeviceId device) const {
    return *devices_[IndexOf(grant, device)].device;
  }
  std::int64_t FreeBytes(const Grant& grant, DeviceId device) const;

  void Join(const Grant& grant, const Tenant& tenant);
  void Part(const Grant& grant, const Tenant& tenant);
  // What others do to it, each where they do it most.
  struct Others {
    double busy = 0;
    double bandwidth = 0;
  };
  Others Neighbours(const Grant& grant, const Tenant& tenant) const;
  // How many of its bundle are there, itself among them.
  int Fused(const Grant& grant, const Tenant& tenant) const;
  // Whether anybody of its bundle is.
  bool Has(const Grant& grant) const {
    return !grant.devices.empty() &&
           devices_[IndexOf(grant, grant.devices.front())].Has(grant.bundle);
  }
  // Calls for each other slot on a device of the grant; for some of them more than once.
  template <typename Visit>
  void ForOthers(const Grant& grant, std::uint32_t slot, Visit visit) const {
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

  std::vector<std::size_t> first_;  // of each node
  std::vector<State> devices_;
};

}  // namespace sluice
