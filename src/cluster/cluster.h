#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/state.h"
#include "cluster/demand.h"

namespace sluice {

// One accelerator of a node.
struct Device {
  std::string uuid;  // how drivers name it; survives re-ordering
  std::string kind;  // "H200"
  std::int64_t memory_bytes = 0;
  // The part of the time in which it can be used: all of it, unless a pipeline job lends it during its
  // bubbles. Only those who ask for such a device get one.
  Milli open = kWhole;
  friend bool operator==(const Device&, const Device&) = default;

  bool IsLent() const { return open < kWhole; }
};

struct Node {
  std::string name;
  Milli cpus = 0;
  std::vector<Device> devices;  // DeviceId is the index here
  bool up = true;               // one that is down offers nothing
  friend bool operator==(const Node&, const Node&) = default;
};

// Processes that one device can serve at once: so many clients MPS has.
constexpr int kMostClients = 48;

// What one launch holds. The trials of a bundle run in one program and hold its cores and its part of
// the devices together; of memory each has its own part, beside what the program takes once.
struct Grant {
  NodeId node{};
  Milli cpus = 0;
  Milli gpu_share = 0;            // of each device
  Milli bandwidth = 0;            // of each device
  std::int64_t memory_bytes = 0;  // of each device
  std::vector<DeviceId> devices;
  BundleId bundle{};               // none: it runs alone
  std::int64_t program_bytes = 0;  // of each device: of a bundle, what it takes once
  friend bool operator==(const Grant&, const Grant&) = default;
};

// What is taken of a device.
struct DeviceUse {
  Milli share = 0;
  Milli bandwidth = 0;
  std::int64_t memory_bytes = 0;
  int clients = 0;
  friend bool operator==(const DeviceUse&, const DeviceUse&) = default;
};

// Nodes and what is free on them. NodeId counts from 1 in order of joining. Cheap to copy.
class Cluster {
 public:
  NodeId Join(Node node);
  // A node that came back, perhaps with other devices. What was granted on it stays granted.
  void Change(NodeId id, Node node);
  // All nodes there are, in the order of their ids; those beyond the last are down.
  void SetNodes(const std::vector<Node>& nodes);

  const std::vector<Node>& nodes() const { return *nodes_; }
  const Node& node(NodeId id) const;

  // Below zero where a node shrank under what was granted.
  Milli FreeCpus(NodeId id) const;
  Milli FreeShare(NodeId id, DeviceId device) const;
  // What is taken of each device the node has.
  std::span<const DeviceUse> Used(NodeId id) const;
  // How many hold it; 0: there is no such bundle.
  int BundleSize(BundleId bundle) const;
  // One that is not taken.
  BundleId NewBundle() const;

  // Grants may exceed what a node offers only where it shrank under them (Change): Take itself
  // checks.
  bool Fits(const Grant& grant) const;
  void Take(const Grant& grant);
  void Release(const Grant& grant);
  // False, with the books of no use any more, if not all of it was granted.
  bool TryRelease(const Grant& grant);
  // Whether nothing is granted.
  bool idle() const;

  void Save(StateWriter& writer) const;
  // Corruption, with the cluster of no use any more, on what Save does not write.
  Status Load(StateReader& reader);
  void AddTo(Digest& digest) const;

 private:
  struct Usage {
    Milli cpus = 0;
    std::vector<DeviceUse> devices;
  };
  // Whether it comes to a bundle that is there.
  bool Joins(const Grant& grant) const;
  bool HasRoom(const Grant& grant, DeviceId device) const;

  // Shared with copies, never changed in place: planners copy a cluster for its books, and nodes
  // are many texts that rarely change.
  std::shared_ptr<const std::vector<Node>> nodes_ = std::make_shared<const std::vector<Node>>();
  std::vector<Usage> used_;
  std::map<BundleId, int> bundles_;  // how many hold each
};

// First fit, of devices that nobody lends: the first node with enough free cores and free devices, by device id; a share goes to
// the fullest device it fits on, so that whole ones stay whole. Memory and bandwidth that the demand
// names must be free too. A grant with node 0 means that nothing fits. With an order, of its nodes alone.
Grant FirstFit(const Cluster& cluster, const Demand& demand, std::span<const NodeId> order = {});

// Whether the demand would fit if nothing else ran.
bool FitsEmpty(const Cluster& cluster, const Demand& demand);

}  // namespace sluice
