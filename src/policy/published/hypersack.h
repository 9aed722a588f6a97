#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/device_tree.h"
#include "policy/policy.h"

namespace sluice {

// HyperSack (HiPC '24): packs light trials onto shared devices by all they take of them: compute,
// memory, memory bandwidth, a place among a device's clients, and cores of its node. Trials come one
// after the other, in the order they wait or the one with the most left to do first, and each goes to the
// first device that has room for it or to the one with the most free compute. Who finds no room is
// passed over by those that do.
//
// - Devices of several kinds: what a trial takes is what was measured on that kind, and free compute is
//   what this trial would make of it: the free part of the device times its speed there.
// - Trials that studies have yet to propose take their place in the order too, so that a long one is not
//   kept waiting by short ones that happen to be there.
// - Who needs more of a device's memory than of its compute finds room rarely, where small trials fill
//   every gap. If one of them has waited for twice as long as the longest trial in sight takes, it comes
//   first, and while it lacks memory the device with the most of it takes nobody else.
// - Trials that need several devices, or none, take the first that are free.
//
// `optimal` is the reference: the GPU assignment problem, solved by patterns and CBC within a limit on its
// search tree. Its plans do not look ahead, and a plan that could not be proved best says so.
//
// Cost: a plan sorts n trials and searches a tree of devices for each one placed; trials of a study
// that found no room once are not tried again.
class HyperSack : public Policy {
 public:
  struct Options {
    bool longest_first = false;
    bool worst_fit = false;
    bool optimal = false;  // as many shares of compute as an integer program finds room for
  };
  explicit HyperSack(Options options) : options_(options) {}

  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override;
  bool LooksAtRunning() const override { return false; }
  bool LooksAtSpeeds() const override { return true; }

 private:
  // Devices of one kind.
  struct Kind {
    std::string_view name;
    DeviceTree tree;
    std::vector<std::pair<NodeId, DeviceId>> devices;  // as in the tree
  };
  // Trials of one study are alike.
  struct Class {
    const StudyView* study = nullptr;
    std::vector<Room> needs;      // on each kind
    std::vector<double> speeds;   // on each kind
    double seconds_per_unit = 0;  // where it is quickest
    double shortest = 0;          // of those that wait: what is left to do, in seconds
    Milli size = 0;               // what it takes of a device at most
    int started = 0;              // by this plan
    int asked = 0;                // of them, those that are to be proposed
    bool full = false;            // there is no room for another
    bool lacks_memory = false;    // but for memory there would be
  };
  // Trials of one class, with as much left to do, that come one after the other.
  struct Entry {
    double seconds = 0;
    Milli size = 0;
    std::uint32_t of = 0;            // class
    const WorkItem* item = nullptr;  // the first of them; null: they are still to be proposed
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
  Room RoomOn(NodeId node, DeviceId device) const;
  void PlaceOptimally(Plan& plan);
  void PlaceInTurn(Plan& plan, Time now);
  bool HasSlot(const Class& trials) const;
  void HelpStarving(Plan& plan, Time now, double patience);
  bool IsBig(const Class& trials) const;
  bool LacksMemory(const Class& trials) const;
  void Reserve(const Class& trials);

  Options options_;
  // Here only to keep their memory from plan to plan.
  Cluster free_;
  std::vector<Kind> kinds_;
  std::vector<std::vector<Spot>> spots_;  // of each node's devices
  std::vector<Class> classes_;
  std::vector<Entry> queue_;
  std::vector<Room> rooms_;
};

}  // namespace sluice
