#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/placer.h"
#include "policy/policy.h"

namespace sluice {

// Decides how wide the trials of an elastic study are to be so that the last of them ends soonest,
// on this many devices (or cores, for trials that need no device). How it works is explained in
// width_planner.cc.
class WidthPlanner {
 public:
  WidthPlanner(const Cluster& cluster, const WorkView& work, const StudyView& study, Milli devices,
               Time now);

  // How many trials could run at once, if all had the width with the most throughput per device.
  int MostAlive() const;
  // The trials that are to run, and how wide: first those that find room, then the others. Among
  // those that find room, trials that have begun come first, then trials with the most time left.
  std::vector<Wanted> Choose() const;
  // Seconds until all known work is done; infinite if a trial's work has no bound.
  double length() const { return length_s_; }

 private:
  // A trial, and the seconds it has left at each width. The cost of changing to that width is
  // included.
  struct Trial {
    const WorkItem* item = nullptr;
    std::vector<double> seconds;
    std::size_t width = 0;  // index in widths_
    std::size_t held = 0;   // index of the width it runs at; widths_.size(): it does not run
  };

  void ListWidths(const Cluster& cluster);
  double SpeedAt(const std::string& kind, Milli width) const;
  double SpeedOn(const Grant& grant, std::size_t width);
  Trial TimesOf(const WorkItem& item);
  // Which trials find room at their width, which do not, and the width that is left.
  struct Admission {
    std::vector<Trial*> in;
    std::vector<Trial*> out;
    Milli spare = 0;
  };
  // Which running trials may change their width: none, those that would end too late, or any.
  enum class Change { kNone, kLate, kAny };
  // The index of the width with the least area, in device-seconds, of the widths at which the trial
  // ends within `length_s`; widths_.size() if there is none.
  std::size_t Narrowest(const std::vector<double>& seconds, double length_s) const;
  std::size_t WidthFor(const Trial& trial, double length_s, Change change) const;
  double Area(const std::vector<double>& seconds, std::size_t width) const;
  bool Fits(double length_s, Change change) const;
  double Bisect(Change change) const;
  bool IsWorth(double length_s, double instead_of_s) const;
  void Settle();
  // Widths at which all trials run at once and end within `length_s`, if there are such widths.
  std::optional<std::vector<std::size_t>> AllAtOnce(double length_s, Change change) const;
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
  std::vector<double> speeds_;                               // at each width, on devices of `kind_`
  std::map<std::string, std::vector<double>> other_speeds_;  // on other kinds that trials hold
  // Indices in widths_. least_: the narrowest width in use. With narrower trials, a study that
  // limits how many run at once would leave devices idle. best_: of the widths from least_ on, the
  // one with the most throughput per device.
  std::size_t least_ = 0;
  std::size_t best_ = 0;
  std::vector<Trial> trials_;
  std::vector<double> to_come_s_;    // seconds of a trial still to be proposed, to its full budget
  std::vector<double> typical_s_;    // the same for a trial that does average work
  int coming_ = 0;                   // how many are still to be proposed
  std::vector<double> to_return_s_;  // seconds of a paused trial that goes on
  int returning_ = 0;                // how many are expected to pause and go on
  // How many trials do not run now and are expected to run again: a part of the devices is kept for
  // them.
  int away_ = 0;
  double length_s_ = 0;
  bool may_change_ = false;  // whether the cost of a change is known
};

}  // namespace sluice
