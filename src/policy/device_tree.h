#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster/cluster.h"

namespace sluice {

// What is free for another trial on a device, or what a trial takes of one.
struct Room {
  Milli share = 0;
  Milli bandwidth = 0;
  std::int64_t memory_bytes = 0;
  Milli cpus = 0;  // of the device's node
  int clients = 0;
  friend bool operator==(const Room&, const Room&) = default;
};

// Devices in an order, by what is free on them: finds one with room for a trial without looking at all
// of them.
//
// A binary tree over the devices, whose inner nodes hold the most of each resource that any device below
// them has. A search leaves out what cannot hold the trial. A change costs the depth of the tree. So
// does a search, nearly always: a subtree may promise what no single device of it has (one has the
// memory, another the compute), and then it is looked through. A sorted list would do for one resource,
// not for five.
class DeviceTree {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // All anew. Keeps its memory.
  void Assign(const std::vector<Room>& devices);
  std::size_t size() const { return size_; }
  const Room& at(std::size_t device) const { return nodes_[leaves_ + device]; }
  void Set(std::size_t device, const Room& room);

  // The first with all of this free; kNone: there is none.
  std::size_t First(const Room& need) const;
  // Of those with all of this free, the one with the most compute free; of equal ones that with the most
  // memory free, then the first.
  std::size_t Roomiest(const Room& need) const;

 private:
  void FindRoomiest(std::size_t node, const Room& need, std::size_t& best) const;

  std::size_t size_ = 0;
  std::size_t leaves_ = 0;  // where they begin; node n has the children 2n and 2n + 1
  std::vector<Room> nodes_;
};

}  // namespace sluice
