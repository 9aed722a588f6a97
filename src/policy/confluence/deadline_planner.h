#pragma once

#include <array>
#include <utility>
#include <vector>

#include "policy/placer.h"
#include "policy/policy.h"

namespace sluice {

// Who of a study with a deadline is to run, and how wide, so that the best of its trials is expected to be best
// when the deadline comes. The prose is in deadline_planner.cc.
class DeadlinePlanner {
 public:
  // On so many devices (or cores, where they need no device).
  DeadlinePlanner(const Cluster& cluster, const WorkView& work, const StudyView& study,
                  Milli devices, Time now);

  // New trials it would start now, beside those that wait.
  int fresh() const { return fresh_; }
  // Who is to run, and how wide.
  const std::vector<Wanted>& chosen() const { return chosen_; }
  // Who leaves and is not worth saving.
  const std::vector<TrialKey>& given_up() const { return given_up_; }
  // The loss that is expected at the deadline; NaN while nothing is known.
  double expected() const { return expected_; }

 private:
  // A trial that may run: one there is, or one that could be proposed.
  struct Arm {
    const WorkItem* item = nullptr;  // none: to be proposed
    const Forecast* forecast = nullptr;
    double done = 0;
    double credit = 0;  // seconds since its last report, lost if it leaves
    Milli held = 0;     // what it runs at; 0: nothing
    double pace = 1;
    double way = 1;         // it has still before it, as a part of what it had before any work
    double spread = 0;      // of its limit, had it done no work
    bool hopeless = false;  // not worth saving
  };
  // Arms, and how wide each is, for a while; then the best of them has all it can use.
  struct Stage {
    std::vector<std::size_t> arms;
    std::vector<Milli> widths;  // of those that run now; the others follow
  };
  // Lengths of the first stage, as parts of what is left.
  static constexpr std::array<double, 7> kStages = {0.04, 0.1, 0.2, 0.35, 0.5, 0.75, 1};

  void ListArms();
  void RunEverybody();
  void Decide();
  std::vector<std::size_t> InOrder(double optimism) const;
  template <typename MayHave>
  void Deal(Stage& stage, Milli spare, MayHave may_have) const;
  Stage Stay(const std::vector<std::size_t>& order) const;
  Stage Widened(const std::vector<std::size_t>& order, std::size_t count) const;
  Stage Try(const Stage& stage, const std::vector<std::size_t>& by_hope,
            const std::vector<std::size_t>& by_mean) const;
  void Adopt(const Stage& stage);
  // The best loss that is expected at the deadline, with a first stage of one of the lengths there are; with that
  // which is best, from one of them on.
  double ValueWith(const Stage& stage, std::size_t length) const;
  double ValueOf(const Stage& stage, std::size_t at_least) const;
  double StartCounts() const;  // the part of a start that is charged
  double WorkAtEnd(const Arm& arm, double seen, double as_it_is, double rest) const;
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
  Milli narrow_;  // the least a trial is given
  Milli wide_;    // the most one can use
  Time now_;
  double left_;                 // seconds until the deadline
  double start_up_;             // seconds of a launch until its first step
  double leaving_;              // seconds of one that saves and leaves
  std::vector<double> speeds_;  // at each multiple of narrow_
  std::vector<Arm> arms_;
  // For each length: what each trial would come to that only runs afterwards, the best first.
  std::array<std::vector<std::pair<double, std::size_t>>, kStages.size()> idle_;
  int fresh_ = 0;
  std::vector<Wanted> chosen_;
  std::vector<TrialKey> given_up_;
  double expected_;
};

}  // namespace sluice
