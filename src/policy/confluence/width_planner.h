#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/placer.h"
#include "policy/policy.h"

namespace sluice {

// How wide the trials of an elastic study are to be so that the last of them ends soonest, on so many devices
// (or cores, where they need no device). The prose is in width_planner.cc.
class WidthPlanner {
 public:
  WidthPlanner(const Cluster& cluster, const WorkView& work, const StudyView& study, Milli devices,
               Time now);

  // Trials that could be alive at once, if all had the width at which a device does most.
  int MostAlive() const;
  // Who is to run, and how wide, those first that have most to do.
  std::vector<Wanted> Choose() const;
  // Seconds until all that is known is done; infinite if that cannot be said.
  double length() const { return length_; }

 private:
  // A trial, and its seconds at each width: what a change costs is in them.
  struct Trial {
    const WorkItem* item = nullptr;
    std::vector<double> seconds;
    std::size_t width = 0;  // index
    std::size_t held = 0;   // the one it has; the count of widths if none
  };

  void ListWidths(const Cluster& cluster);
  double SpeedAt(const std::string& kind, Milli width) const;
  double SpeedOn(const Grant& grant, std::size_t width);
  Trial TimesOf(const WorkItem& item);
  // Who finds room at its width, and what that leaves.
  struct Admission {
    std::vector<Trial*> in;
    std::vector<Trial*> out;
    Milli spare = 0;
  };
  // Which trials that run may be changed.
  enum class Change { kNone, kLate, kAny };
  // The width with the least area of those that end in time; the count of widths if none does.
  std::size_t Narrowest(const std::vector<double>& seconds, double length) const;
  std::size_t WidthFor(const Trial& trial, double length, Change change) const;
  double Area(const std::vector<double>& seconds, std::size_t width) const;
  bool Fits(double length, Change change) const;
  double Bisect(Change change) const;
  bool IsWorth(double length, double instead_of) const;
  void Settle();
  // Widths at which all trials run at once and end in time.
  std::optional<std::vector<std::size_t>> AllAtOnce(double length, Change change) const;
  void BeginAtOnce(Change change);
  Admission LetIn(std::vector<Trial>& trials) const;
  Milli Chosen(const Trial& trial) const;
  void Spend(std::vector<Trial*>& in, Milli spare) const;
  bool Widen(std::vector<Trial*>& group, Milli& spare) const;

  const Cluster& cluster_;
  const WorkView& work_;
  const StudyView& study_;
  Milli devices_;
  Time now_;
  std::string kind_;
  std::vector<Milli> widths_;
  std::vector<double> speeds_;                               // at each, on devices of `kind_`
  std::map<std::string, std::vector<double>> other_speeds_;  // on other kinds that are held
  std::size_t least_ = 0;  // narrower, as many as may run at once leave devices idle
  std::size_t best_ = 0;   // of the others, the width at which a device does most
  std::vector<Trial> trials_;
  std::vector<double> to_come_;  // seconds of one still to be proposed, if it goes all the way
  std::vector<double> typical_;  // the same if it is judged as most are
  int coming_ = 0;
  std::vector<double> to_return_;  // the same of one that is to go on
  int returning_ = 0;
  int away_ = 0;  // of them, those that hold nothing now
  double length_ = 0;
  bool may_change_ = false;  // what that costs is known
};

}  // namespace sluice
