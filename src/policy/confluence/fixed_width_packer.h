#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "policy/amounts.h"
#include "policy/policy.h"

namespace sluice {

// Packs trials of fixed width onto devices, so that little of a device stays free and the trials
// with the most work left run. How it works is explained in fixed_width_packer.cc.
class FixedWidthPacker {
 public:
  // The packer may start trials of `studies`. It takes what their running trials hold out of
  // `free`.
  FixedWidthPacker(Cluster& free, const WorkView& work,
                   const std::vector<const StudyView*>& studies, Time now);

  // Adds the trials to start to `plan`. Adds the running trials that are to make room for others to
  // `leaving`.
  void Fill(Plan& plan, std::vector<TrialKey>& leaving);
  // Whether some free room is kept for a trial that does not fit yet.
  bool KeepsRoom() const;

 private:
  static constexpr double kEndless = std::numeric_limits<double>::max();  // seconds
  static constexpr std::int64_t kMany = 1 << 20;  // trials, where their number is not known

  // Time that a trial has left.
  struct Left {
    double next_s = 0;  // until it is judged next
    double all_s = 0;   // until its full budget, if it goes on
  };
  struct Waiting {
    Left left;
    const WorkItem* item = nullptr;
  };
  // The trials of one study. They are alike except for the work they have left.
  struct Class {
    const StudyView* study = nullptr;
    std::vector<DeviceNeed> needs;  // on each kind
    std::vector<double> speeds;     // on each kind
    std::vector<double> thrift;     // on each kind; 1: where it costs least (CompareKinds)
    double at_once = 1;             // trials on all devices, if other trials fill the gaps
    double alike_at_once = 1;       // the same without other trials
    double lost_alike_s = 0;        // how much longer all of them take without other trials
    double seconds_per_unit = 1;    // on the fastest kind
    bool unknown = true;            // speed not measured, and no trial runs to measure it
    std::vector<Waiting> waiting;   // by seconds left, most first
    std::size_t next = 0;           // index of the first of `waiting` that is not started yet
    Left of_coming;                 // of a trial that is not proposed yet
    std::int64_t to_come = 0;       // trials that the study could still propose or resume
    int asked = 0;                  // how many of `to_come` the plan has room for
    int slots = 0;                  // how many more trials may run at once

    // The most seconds left of any trial that could start next; 0 without a slot.
    double LongestNext() const;
    // How many of the next trials a search has counted already, without starting them.
    struct Taken {
      std::int64_t waiting = 0;
      std::int64_t to_come = 0;
    };
    // Whether the next trial is one that waits, not one to come.
    bool WaitingComesNext(const Taken& taken) const;
    // What the next trial has left.
    const Left& After(const Taken& taken) const;
    void Take(Taken& taken) const;
    std::int64_t Known() const;
  };
  // A running trial that holds a part of one device, or cores.
  struct Runner {
    const WorkItem* item = nullptr;
    std::size_t of = 0;  // class
  };
  // What is filled: a device, or the cores of a node.
  struct Spot {
    NodeId node{};
    int device = -1;  // -1: the node's cores
    std::size_t kind = 0;
    std::vector<Runner> running;
    Amounts kept_free{};    // room kept for late trials
    double kept_for_s = 0;  // time left of the longest of these late trials; 0: there is none
  };
  void ListSpots();
  void Classify(const std::vector<const StudyView*>& studies);
  void CompareKinds();
  double AtOnce(const Class& trials, bool alike) const;
  double Suits(const Class& trials, std::size_t kind, double left_s) const;
  void StartWide(Plan& plan, bool first);
  void SpreadAll(Plan& plan);
  bool IsLate(const Class& trials, double left_s) const;
  bool EndsLater(const Class& trials, std::size_t kind, double left_s) const;
  Spot* SnuggestFor(const Class& trials, double left_s);
  Spot* ClearedFor(const Class& trials, double left_s);
  bool MakesWay(const Runner& runner, double late_s) const;
  void MakeRoomForLate(Plan& plan);
  const Spot* RoomiestFor(const Class& trials) const;
  void FillSpot(const Spot& spot, Plan& plan, std::vector<TrialKey>& leaving);
  Amounts Takes(const Class& trials, std::size_t kind) const;
  Amounts RoomOn(const Spot& spot) const;
  Amounts RoomBeside(const Spot& spot) const;
  Left LeftOf(const Class& trials, const WorkItem& item) const;
  double Urgency(const Class& trials, double left_s) const;
  double Worth(const Amounts& takes, const Amounts& all, double seconds) const;
  Grant GrantOn(const Spot& spot, const Class& trials) const;
  void Start(Class& trials, Grant grant, Plan& plan);
  bool MayLeave(const Class& trials, const WorkItem& item) const;
  double TurnOf(const StudyView& study) const;
  static double PriceOf(const StudyView& study) { return Seconds(study.start_up + study.leaving); }

  Cluster& free_;
  const WorkView& work_;
  Time now_;
  std::vector<std::string_view> kinds_;  // of devices; the first, an empty name, stands for cores
  std::vector<Spot> spots_;
  std::vector<Class> classes_;
  bool all_fixed_ = true;         // no trial is judged
  double longest_s_ = 1;          // seconds that the longest trial has left
  double horizon_s_ = 0;          // seconds that all work left takes at least
  double lost_alike_s_ = 0;       // seconds more, if trials have only their like as neighbours
  std::vector<Milli> kept_cpus_;  // of each node, kept for late trials
};

}  // namespace sluice
