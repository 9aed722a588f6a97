#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "policy/solve/packing_pattern.h"

namespace sluice {

// Fills devices with trials of fixed width, so that little of them is left free and whoever has most left to do
// runs. The prose is in fixed_width_packer.cc.
class FixedWidthPacker {
 public:
  // Of studies whose trials it may start: what those hold that run is taken of `free`.
  FixedWidthPacker(Cluster& free, const WorkView& work,
                   const std::vector<const StudyView*>& studies, Time now);

  // Trials to start, and in `leaving` those that are to make room for others.
  void Fill(Plan& plan, std::vector<TrialKey>& leaving);
  // Whether some of what is free is for somebody who does not fit yet.
  bool KeepsRoom() const;

 private:
  static constexpr double kEndless = std::numeric_limits<double>::max();
  static constexpr std::int64_t kMany = 1 << 20;

  // Seconds a trial has left.
  struct Left {
    double next = 0;  // to where it is judged
    double all = 0;   // if it goes on then
  };
  struct Waiting {
    Left left;
    const WorkItem* item = nullptr;
  };
  // Trials of one study are alike but for what is left of them.
  struct Class {
    const StudyView* study = nullptr;
    std::vector<DeviceNeed> needs;  // on each kind
    std::vector<double> speeds;     // on each kind
    std::vector<double> thrift;     // on each kind; 1: takes least there, beside what others take
    double at_once = 1;             // of them on all devices, if others fill what they leave
    double alike_at_once = 1;       // if none do
    double lost_alike = 0;          // seconds by which all of them take longer then
    double seconds_per_unit = 1;    // where it is quickest
    bool unknown = true;            // nobody has measured that, or is about to
    std::vector<Waiting> waiting;   // by seconds left, most first
    std::size_t next = 0;           // of them
    Left of_coming;                 // of one that is not there yet
    std::int64_t to_come = 0;       // trials the study could still give
    int asked = 0;                  // of them, those there is room for
    int slots = 0;

    double LongestNext() const;
    // So many have been thought of already.
    struct Taken {
      std::int64_t waiting = 0;
      std::int64_t to_come = 0;
    };
    bool WaitingComesNext(const Taken& taken) const;
    const Left& After(const Taken& taken) const;
    void Take(Taken& taken) const;
    std::int64_t Known() const;
  };
  // It holds a part of one device, or cores.
  struct Runner {
    const WorkItem* item = nullptr;
    std::size_t of = 0;  // class
  };
  struct Spot {
    NodeId node{};
    int device = -1;  // -1: the node's cores
    std::size_t kind = 0;
    std::vector<Runner> running;
    Amounts kept_free{};  // for one that is late,
    double kept_for = 0;  // with so many seconds left
  };
  void ListSpots();
  void Classify(const std::vector<const StudyView*>& studies);
  void CompareKinds();
  double AtOnce(const Class& trials, bool alike) const;
  double Suits(const Class& trials, std::size_t kind, double left) const;
  void StartWide(Plan& plan, bool first);
  void SpreadAll(Plan& plan);
  bool IsLate(const Class& trials, double left) const;
  bool EndsLater(const Class& trials, std::size_t kind, double left) const;
  Spot* SnuggestFor(const Class& trials, double left);
  Spot* ClearedFor(const Class& trials, double left);
  bool MakesWay(const Runner& runner, double late) const;
  void MakeRoomForLate(Plan& plan);
  const Spot* RoomiestFor(const Class& trials) const;
  void FillSpot(const Spot& spot, Plan& plan, std::vector<TrialKey>& leaving);
  Amounts Takes(const Class& trials, std::size_t kind) const;
  Amounts RoomOn(const Spot& spot) const;
  Amounts RoomBeside(const Spot& spot) const;
  Left LeftOf(const Class& trials, const WorkItem& item) const;
  double Urgency(const Class& trials, double left) const;
  double Worth(const Amounts& takes, const Amounts& all, double seconds) const;
  Grant GrantOn(const Spot& spot, const Class& trials) const;
  void Start(Class& trials, Grant grant, Plan& plan);
  bool MayLeave(const Class& trials, const WorkItem& item) const;
  double TurnOf(const StudyView& study) const;
  static double PriceOf(const StudyView& study) { return Seconds(study.start_up + study.leaving); }

  Cluster& free_;
  const WorkView& work_;
  Time now_;
  std::vector<std::string_view> kinds_;
  std::vector<Spot> spots_;
  std::vector<Class> classes_;
  bool all_fixed_ = true;  // nobody is judged
  double longest_ = 1;
  double horizon_ = 0;     // seconds all that is left takes, at least
  double lost_alike_ = 0;  // by which it may take longer, since trials fit badly beside their like
  std::vector<Milli> kept_cpus_;  // of each node, for those that are late
};

}  // namespace sluice
