#pragma once

#include <array>
#include <utility>
#include <vector>

#include "policy/placer.h"
#include "policy/policy.h"

namespace sluice {

// Decides which trials of a study with a deadline run, and how wide, so that the best loss at the
// deadline is expected to be lowest. How it works is explained in deadline_planner.cc.
class DeadlinePlanner {
 public:
  // Plans for this many devices (or cores, for trials that need no device).
  DeadlinePlanner(const Cluster& cluster, const WorkView& work, const StudyView& study,
                  Milli devices, Time now);

  // How many new trials it would start now, besides waiting trials. Proposals on their way are
  // included.
  int fresh() const { return fresh_; }
  // The trials that are to run, and how wide.
  const std::vector<Wanted>& chosen() const { return chosen_; }
  // Running trials that leave and are not worth saving.
  const std::vector<TrialKey>& given_up() const { return given_up_; }
  // The best loss expected at the deadline; NaN while too little is known.
  double expected() const { return expected_; }

 private:
  // A candidate: a trial that exists, or one that could be proposed.
  struct Arm {
    const WorkItem* item = nullptr;  // null: to be proposed
    const Forecast* forecast = nullptr;
    double done = 0;
    double credit_s = 0;  // seconds trained since its last report; lost if it leaves
    Milli held = 0;       // the width it runs at; 0: it does not run
    double pace = 1;
    double way = 1;         // the part of the whole drop in loss that is still to come
    double spread = 0;      // standard deviation of the whole drop
    bool hopeless = false;  // not worth saving
  };
  // The first stage of a plan: its arms, and the widths of the arms that run now. In the second
  // stage the best arm has all devices that it can use.
  struct Stage {
    std::vector<std::size_t> arms;
    std::vector<Milli> widths;  // of the arms that come first; the others run later in the stage
  };
  // Lengths of the first stage to choose from, as fractions of the time left. Short lengths are
  // closer together: every report brings a new plan, so only the beginning of a plan is carried
  // out. The time to make a plan grows with the number of lengths. A guess: not measured.
  static constexpr std::array<double, 7> kStages = {0.04, 0.1, 0.2, 0.35, 0.5, 0.75, 1};

  void ListArms();
  void RunAll();
  void Decide();
  std::vector<std::size_t> InOrder(double optimism) const;
  template <typename MayHave>
  void Deal(Stage& stage, Milli spare, MayHave may_have) const;
  Stage Stay(const std::vector<std::size_t>& order) const;
  Stage Widened(const std::vector<std::size_t>& order, std::size_t count) const;
  Stage Try(const Stage& stage, const std::vector<std::size_t>& by_hope,
            const std::vector<std::size_t>& by_mean) const;
  void Adopt(const Stage& stage);
  // The best loss expected at the deadline. ValueWith: for one length of the first stage, given as
  // an index into kStages. ValueOf: for the best length whose index is `at_least` or higher.
  double ValueWith(const Stage& stage, std::size_t length) const;
  double ValueOf(const Stage& stage, std::size_t at_least) const;
  double StartCounts() const;  // the fraction of a start-up that is charged
  double WorkAtEnd(const Arm& arm, double seen, double as_it_is, double rest_s) const;
  void ListIdle();
  bool Keeps(const Stage& stage, std::size_t arm) const;
  bool GivesUp(const Stage& stage, std::size_t arm) const;
  int Leavers(const Stage& stage) const;
  double Lost(const Stage& stage) const;
  void FindHopeless(double price);
  double Speed(Milli width) const;
  std::size_t slots() const { return static_cast<std::size_t>(devices_ / narrow_); }

  const WorkView& work_;
  const StudyView& study_;
  Milli devices_;
  Milli narrow_;  // the least width a trial is given
  Milli wide_;    // the most width a trial can use
  Time now_;
  double left_s_;               // until the deadline
  double start_up_s_;           // from the start of a launch to its first step
  double leaving_s_;            // for a launch to save and leave
  std::vector<double> speeds_;  // at each multiple of narrow_
  std::vector<Arm> arms_;
  // For each length of the first stage: the loss expected of each existing trial if it runs only
  // after the first stage, with the index of its arm. The lowest loss comes first.
  std::array<std::vector<std::pair<double, std::size_t>>, kStages.size()> idle_;
  int fresh_ = 0;
  std::vector<Wanted> chosen_;
  std::vector<TrialKey> given_up_;
  double expected_;
};

}  // namespace sluice
