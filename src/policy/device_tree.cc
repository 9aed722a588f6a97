#include "policy/device_tree.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice {
namespace {

// Unlike Fits, this also looks at resources that the trial does not need: so kNoRoom holds nothing.
bool Holds(const Amounts& room, const Amounts& need) {
  return room.share >= need.share && room.memory_bytes >= need.memory_bytes &&
         room.cpus >= need.cpus && room.clients >= need.clients && room.bandwidth >= need.bandwidth;
}

Amounts MostOf(const Amounts& a, const Amounts& b) {
  return {.share = std::max(a.share, b.share),
          .bandwidth = std::max(a.bandwidth, b.bandwidth),
          .memory_bytes = std::max(a.memory_bytes, b.memory_bytes),
          .clients = std::max(a.clients, b.clients),
          .cpus = std::max(a.cpus, b.cpus)};
}

// Whether a is the better choice if both have room for the trial.
bool IsRoomier(const Amounts& a, const Amounts& b) {
  return std::pair(a.share, a.memory_bytes) > std::pair(b.share, b.memory_bytes);
}

}  // namespace

void DeviceTree::Assign(const std::vector<Amounts>& devices) {
  size_ = devices.size();
  leaves_ = std::bit_ceil(std::max<std::size_t>(size_, 1));
  nodes_.assign(2 * leaves_, kNoRoom);
  std::ranges::copy(devices, nodes_.begin() + static_cast<std::ptrdiff_t>(leaves_));
  for (std::size_t node = leaves_ - 1; node > 0; --node)
    nodes_[node] = MostOf(nodes_[2 * node], nodes_[2 * node + 1]);
}

void DeviceTree::Set(std::size_t device, const Amounts& room) {
  std::size_t node = leaves_ + device;
  if (nodes_[node] == room) return;
  nodes_[node] = room;
  for (node /= 2; node > 0; node /= 2) {
    const Amounts most = MostOf(nodes_[2 * node], nodes_[2 * node + 1]);
    if (nodes_[node] == most) return;
    nodes_[node] = most;
  }
}

std::size_t DeviceTree::First(const Amounts& need) const {
  std::size_t node = 1;
  while (true) {
    if (Holds(nodes_[node], need)) {
      if (node >= leaves_) return node - leaves_;
      node *= 2;
      continue;
    }
    // Goes to the next subtree, to the right of all that was searched.
    while (node % 2 == 1) node /= 2;
    if (node == 0) return kNone;
    ++node;
  }
}

void DeviceTree::FindRoomiest(std::size_t node, const Amounts& need, std::size_t& best) const {
  const Amounts& room = nodes_[node];
  if (!Holds(room, need)) return;
  if (best != kNone && !IsRoomier(room, nodes_[best])) {
    // This subtree can only be better if it has the same room on an earlier device.
    std::size_t first = node;
    while (first < leaves_) first *= 2;
    if (first > best || IsRoomier(nodes_[best], room)) return;
  }
  if (node >= leaves_) {
    best = node;
    return;
  }
  // The subtree that promises more room is searched first.
  const std::size_t left = 2 * node;
  const bool right_first = IsRoomier(nodes_[left + 1], nodes_[left]);
  FindRoomiest(right_first ? left + 1 : left, need, best);
  FindRoomiest(right_first ? left : left + 1, need, best);
}

std::size_t DeviceTree::Roomiest(const Amounts& need) const {
  std::size_t best = kNone;
  FindRoomiest(1, need, best);
  return best == kNone ? kNone : best - leaves_;
}

}  // namespace sluice
