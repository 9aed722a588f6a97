#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/device_tree.h"
#include "policy/policy.h"

namespace sluice {

// HyperSack (HiPC '24): packs light trials onto shared devices by all resources they take: compute,
// memory, memory bandwidth, one of the device's clients, and cores of its node. Trials are placed
// one by one: in queue order, or the trial with the most work left first. Each trial goes to the
// first device that has room for it, or to the device with the most free compute. A trial that
// finds no room is passed over by trials that do.
//
// - Devices of several kinds: a trial takes what was measured on that kind. Free compute is counted
//   as the trial could use it: the free part of the device times the trial's speed there.
// - Trials that studies have yet to propose have a place in the order too, so that a long trial is
//   not delayed by short ones that happen to wait already.
// - A trial that needs a larger part of a device's memory than of its compute rarely finds room,
//   since small trials fill every gap. If such a trial has waited for twice as long as the longest
//   queued trial takes, and for a minute at least, it comes first. While it lacks memory, the
//   device with the most free memory takes no other trial.
// - Trials that need several devices, or none, take the first that are free.
//
// With `optimal`, the policy is a reference for the other variants. It solves the GPU assignment
// problem by patterns and CBC, within a limit on the size of the search tree. Its plans do not look
// ahead and do not guard against starvation. A plan that was not proved optimal says so
// (Plan::unproven).
//
// Cost: a plan sorts n trials, and searches a tree of devices for each trial it places. Once a
// trial of a study has found no room, the plan tries no others of that study.
class HyperSack : public Policy {
 public:
  struct Options {
    bool longest_first = false;
    bool worst_fit = false;
    bool optimal = false;  // an integer program maximises the compute in use
  };
  explicit HyperSack(Options options) : options_(options) {}

  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;

 private:
  // Devices of one kind.
  struct Kind {
    std::string_view name;
    DeviceTree tree;
    std::vector<std::pair<NodeId, DeviceId>> devices;  // in the order of the tree
  };
  // The trials of one study: all need the same.
  struct Class {
    const StudyView* study = nullptr;
    std::vector<Amounts> needs;   // on each kind
    std::vector<double> speeds;   // on each kind
    double seconds_per_unit = 0;  // on the kind where it is fastest
    double shortest_s = 0;        // time left of the shortest trial that waits
    Milli size = 0;               // the largest share of a device it takes on any kind
    int started = 0;              // by this plan
    int asked = 0;                // of those started: trials still to be proposed
    bool full = false;            // there is no room for another trial
    bool lacks_memory = false;    // only memory is missing for another trial
  };
  // Consecutive trials of one class with the same time left.
  struct Entry {
    double seconds = 0;
    Milli size = 0;
    std::uint32_t of = 0;            // class
    const WorkItem* item = nullptr;  // the first trial; null: all are still to be proposed
    int count = 1;
  };
  struct Spot {
    std::size_t kind = 0;
    std::size_t device = DeviceTree::kNone;
  };

  void TakeStock(const Cluster& cluster);
  double SpeedOn(const WorkView& work, const StudyView& study, std::string_view kind,
                 Milli share) const;
  void Classify(const WorkView& work);
  void Queue(const WorkView& work);
  Grant Find(const Class& trials) const;
  Spot FindSpot(const Class& trials) const;
  Grant GrantAt(const Class& trials, const Spot& spot) const;
  void Take(const Grant& grant);
  void Start(const Entry& entry, int number, Grant grant, Plan& plan);
  Amounts RoomOn(NodeId node, DeviceId device) const;
  void PlaceOptimally(Plan& plan);
  void PlaceInTurn(Plan& plan, Time now);
  bool HasSlot(const Class& trials) const;
  void HelpStarving(Plan& plan, Time now, double patience_s);
  bool IsBig(const Class& trials) const;
  bool LacksMemory(const Class& trials) const;
  void Reserve(const Class& trials);

  Options options_;
  // Members only to reuse their memory from plan to plan.
  Cluster free_;
  std::vector<Kind> kinds_;
  std::vector<std::vector<Spot>> spots_;  // by node and device
  std::vector<Class> classes_;
  std::vector<Entry> queue_;
  std::vector<Amounts> rooms_;
};

}  // namespace sluice
