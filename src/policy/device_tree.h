#pragma once

#include <cstddef>
#include <vector>

#include "policy/amounts.h"

namespace sluice {

// The free room of a device that is to take no trial, not even a trial that needs nothing.
inline constexpr Amounts kNoRoom{
    .share = -1, .bandwidth = -1, .memory_bytes = -1, .clients = -1, .cpus = -1};

// A list of devices by what is free on each. Finds a device with room for a trial without looking
// at all devices.
//
// It is a binary tree over the devices. Each inner node holds, for each resource, the most that any
// device below it has free. A search skips every subtree that cannot hold the trial. A change takes
// as many steps as the tree is deep, and so does nearly every search. The exception: a subtree may
// promise room that no single device in it has, because one device has the memory and another the
// compute. That subtree is searched in vain. For one resource a sorted list would be enough, but
// not for five.
class DeviceTree {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // Replaces all devices. Reuses the tree's memory.
  void Assign(const std::vector<Amounts>& devices);
  std::size_t size() const { return size_; }
  const Amounts& at(std::size_t device) const { return nodes_[leaves_ + device]; }
  void Set(std::size_t device, const Amounts& room);

  // The first device with all of this free; kNone: there is none.
  std::size_t First(const Amounts& need) const;
  // Of the devices with all of this free, the one with the most free compute. Ties go to the device
  // with the most free memory, then to the first device.
  std::size_t Roomiest(const Amounts& need) const;

 private:
  void FindRoomiest(std::size_t node, const Amounts& need, std::size_t& best) const;

  std::size_t size_ = 0;
  std::size_t leaves_ = 0;  // the first leaf; node n has the children 2n and 2n + 1
  std::vector<Amounts> nodes_;
};

}  // namespace sluice
