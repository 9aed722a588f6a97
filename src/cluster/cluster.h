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
  // The fraction of time in which trials can use the device. It is kWhole unless a pipeline job
  // lends the device during its bubbles. FirstFit grants no lent device: a policy must choose it.
  // It is 0 if the device is closed: in the part of a cluster that one study has, others hold it.
  Milli open = kWhole;
  friend bool operator==(const Device&, const Device&) = default;

  bool IsLent() const { return open > 0 && open < kWhole; }
  bool IsOwn() const { return open == kWhole; }  // neither lent nor closed
};

struct Node {
  std::string name;
  Milli cpus = 0;
  std::vector<Device> devices;  // DeviceId is the index here
  bool up = true;               // a node that is down offers nothing
  friend bool operator==(const Node&, const Node&) = default;

  // Whether it has lent devices. Its cores are then for the trials on its devices.
  bool Lends() const;
};

// The most processes that one device can serve at once: the limit of MPS clients.
constexpr int kMostClients = 48;

// What one launch holds. The trials of a bundle run in one program, and share the program's cores
// and its part of the devices. Each trial has memory of its own. The program's memory
// (`program_bytes`) is taken once for the bundle.
struct Grant {
  NodeId node{};
  Milli cpus = 0;
  Milli gpu_share = 0;            // of each device
  Milli bandwidth = 0;            // of each device
  std::int64_t memory_bytes = 0;  // of each device
  std::vector<DeviceId> devices;
  BundleId bundle{};               // none: the trial runs alone
  std::int64_t program_bytes = 0;  // of each device: what a bundle's program takes once
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

// Nodes and what is free on them. NodeId counts from 1 in the order of joining. Cheap to copy.
class Cluster {
 public:
  NodeId Join(Node node);
  // Replaces a node that came back, perhaps with other devices. What was granted on it stays
  // granted.
  void Change(NodeId id, Node node);
  // Replaces all nodes, in the order of their ids. Known nodes beyond the end of the list go down.
  void SetNodes(const std::vector<Node>& nodes);

  const std::vector<Node>& nodes() const { return *nodes_; }
  const Node& node(NodeId id) const;

  // FreeCpus is below zero if the node came back with fewer cores than were granted on it.
  // FreeShare is 0 for a device that the node no longer has.
  Milli FreeCpus(NodeId id) const;
  Milli FreeShare(NodeId id, DeviceId device) const;
  // What is taken of each device that the node has.
  std::span<const DeviceUse> Used(NodeId id) const;
  // The number of trials that hold the bundle; 0: there is no such bundle.
  int BundleSize(BundleId bundle) const;
  // An id that no bundle has.
  BundleId NewBundle() const;

  // Take checks that the grant fits. So grants exceed what a node offers only if the node came back
  // smaller (Change), or if more was measured than was granted (TakeAsMeasured).
  bool Fits(const Grant& grant) const;
  void Take(const Grant& grant);
  // Takes what a running launch was measured to take. Unlike Take, it does not check that the grant
  // fits.
  void TakeAsMeasured(const Grant& grant);
  void Release(const Grant& grant);
  // Returns false if not all of the grant was held. The cluster is then unusable.
  bool TryRelease(const Grant& grant);
  // Whether nothing is granted.
  bool idle() const;

  // A part of this cluster: what is in use in `others`, a copy of this cluster, is not there. Nodes
  // have fewer cores, devices that are wholly in use are closed (open is 0), and of other devices
  // less is free. Others' launches do not count as in use in a part, since they are not there.
  Cluster Without(const Cluster& others) const;
  // The same cluster, in which the devices of these uuids have nothing free.
  Cluster Hiding(const std::vector<std::string>& uuids) const;
  // The same cluster, or part of one, with nothing in use.
  Cluster Emptied() const;

  void Save(StateWriter& writer) const;
  // Returns Corruption if Save could not have written this. The cluster is then unusable.
  Status Load(StateReader& reader);
  void AddTo(Digest& digest) const;

 private:
  struct Usage {
    Milli cpus = 0;
    std::vector<DeviceUse> devices;
  };
  // Whether the grant joins a bundle that exists.
  bool Joins(const Grant& grant) const;
  bool HasRoom(const Grant& grant, DeviceId device) const;

  // Shared with copies and never changed in place. Planners copy a cluster to try out grants, and
  // nodes consist of many strings that rarely change.
  std::shared_ptr<const std::vector<Node>> nodes_ = std::make_shared<const std::vector<Node>>();
  std::vector<Usage> used_;
  std::map<BundleId, int> bundles_;  // the number of trials that hold each
  // In a part of a cluster: what others have in use of each device; otherwise empty.
  std::vector<std::vector<DeviceUse>> others_;
};

// First fit on devices that are not lent. Takes the first node with enough free cores and free
// devices, and there the devices in the order of their ids. A share goes to the fullest device on
// which it fits, so that empty devices stay whole. Memory and bandwidth that the demand names must
// be free too. With an `order`, only its nodes are tried, in that order. Returns a grant with node
// 0 if nothing fits.
Grant FirstFit(const Cluster& cluster, const Demand& demand, std::span<const NodeId> order = {});

// Whether the demand would fit on devices that are not lent if nothing else ran: on this node, or
// on some node.
bool FitsEmpty(const Node& node, const Demand& demand);
bool FitsEmpty(const Cluster& cluster, const Demand& demand);

}  // namespace sluice
