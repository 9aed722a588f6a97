#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster/cluster.h"

namespace sluice {

// What is free for another trial on a device, or what a trial takes of a device.
struct Room {
  Milli share = 0;
  Milli bandwidth = 0;
  std::int64_t memory_bytes = 0;
  Milli cpus = 0;  // of the device's node
  int clients = 0;
  friend bool operator==(const Room&, const Room&) = default;
};

// A list of devices by what is free on each. Finds a device with room for a trial without looking
// at all devices.
//
// It is a binary tree over the devices. Each inner node holds, for each resource, the most that any
// device below it has free. A search skips every subtree that cannot hold the trial. A change costs
// the depth of the tree, and nearly always a search does too. The exception: a subtree may promise
// what no single device in it has (one has the memory, another the compute), and is then searched
// in vain. A sorted list would do for one resource, but not for five.
class DeviceTree {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // Replaces all devices. Reuses the tree's memory.
  void Assign(const std::vector<Room>& devices);
  std::size_t size() const { return size_; }
  const Room& at(std::size_t device) const { return nodes_[leaves_ + device]; }
  void Set(std::size_t device, const Room& room);

  // The first device with all of this free; kNone: there is none.
  std::size_t First(const Room& need) const;
  // Of the devices with all of this free, the one with the most free compute. Ties go to the device
  // with the most free memory, then to the first device.
  std::size_t Roomiest(const Room& need) const;

 private:
  void FindRoomiest(std::size_t node, const Room& need, std::size_t& best) const;

  std::size_t size_ = 0;
  std::size_t leaves_ = 0;  // the first leaf; node n has the children 2n and 2n + 1
  std::vector<Room> nodes_;
};

}  // namespace sluice
