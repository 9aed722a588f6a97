#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/state.h"

namespace sluice {

// Capacities and demands are counted in thousandths, so that half a GPU is exact.
using Milli = std::int64_t;
constexpr Milli kWhole = 1000;

// One accelerator of a node.
struct Device {
  std::string uuid;  // how drivers name it; survives re-ordering
  std::string kind;  // "H200"
  std::int64_t memory_bytes = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

struct Node {
  std::string name;
  Milli cpus = 0;
  std::vector<Device> devices;  // DeviceId is the index here
  bool up = true;               // one that is down offers nothing
  friend bool operator==(const Node&, const Node&) = default;
};

// What one trial needs: processor cores, and GPUs: a share of one (below kWhole) or several whole
// ones. An elastic trial runs at any width from `least` to `most` (width.h), of GPUs, or of cores
// where it needs no GPU; 0: it is not elastic.
struct Demand {
  Milli cpus = kWhole;
  Milli gpus = 0;
  Milli least = 0;
  Milli most = 0;
  friend bool operator==(const Demand&, const Demand&) = default;
};

// What one launch holds.
struct Grant {
  NodeId node{};
  Milli cpus = 0;
  Milli gpu_share = 0;  // of each device
  std::vector<DeviceId> devices;
  friend bool operator==(const Grant&, const Grant&) = default;
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
  std::span<const Milli> UsedShares(NodeId id) const;

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
    std::vector<Milli> devices;
  };
  // Shared with copies, never changed in place: planners copy a cluster for its books, and nodes
  // are many texts that rarely change.
  std::shared_ptr<const std::vector<Node>> nodes_ = std::make_shared<const std::vector<Node>>();
  std::vector<Usage> used_;
};

// First fit: the first node with enough free cores and free devices, by device id; a share goes to
// the fullest device it fits on, so that whole ones stay whole. A grant with node 0 means that
// nothing fits.
Grant FirstFit(const Cluster& cluster, const Demand& demand);

// Whether the demand would fit if nothing else ran.
bool FitsEmpty(const Cluster& cluster, const Demand& demand);

}  // namespace sluice
