#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace sluice::train {

// How the trials of a group are trained.
struct Arrangement {
  std::size_t width = 1;  // how many trials are stacked in one program
  std::size_t workers =
      1;  // how many stacks train at a time, with an equal share of the cores each

  auto operator<=>(const Arrangement&) const = default;
};

// Chooses how trials are arranged. More trials in a program share the cost of calling operators;
// but their tensors may no longer fit the caches, and some operators are slower for several trials
// than for one. Stacks that train side by side keep all cores busy where an operator alone does
// not; but then each has fewer trials. Which of these weighs more depends on the network and the
// machine, so it is measured while the trials train: some steps of each arrangement, then all steps
// of the fastest. One after another, the widths 1, 2, 4, ... up to all trials are tried; side by
// side, those up to the trials of a core. Of each of the two, left out are the widths beyond two in
// a row that were clearly slower than its fastest.
class ArrangementChoice {
 public:
  // An arrangement is measured for some steps in a row: at least so many after some that are not
  // counted, since the first steps after a change are slower (caches, memory). Short steps differ
  // more, so more of them are counted, until they have taken this long. Their median counts: a step
  // that is slow by chance does not decide, and neither does one that is fast because workers
  // waited little for each other.
  static constexpr int kUncountedSteps = 2;
  static constexpr int kCountedSteps = 5;
  static constexpr double kCountedSeconds = 0.1;
  // Arrangements that are this close to the fastest are measured so often, in turns. The least
  // median counts, since other work on the machine only adds.
  static constexpr double kClose = 1.15;
  static constexpr std::size_t kTimesIfClose = 3;
  // From this ratio on an arrangement is clearly slower than another: twice what rounds differ by.
  static constexpr double kClearlySlower = 1.2;

  // At most so many stacks train at a time.
  explicit ArrangementChoice(std::size_t cores) : cores_(cores) {}

  // No stack is wider than this from now on.
  void LimitWidth(std::size_t most) { most_ = most; }
  std::size_t most_width() const { return most_; }
  // No stacks train side by side from now on.
  void RuleOutSideBySide() { cores_ = 1; }
  bool allows_side_by_side() const { return cores_ > 1; }

  // How to train so many trials now.
  Arrangement For(std::size_t trials) const;
  // Whether the arrangement is still being chosen.
  bool IsMeasuring(std::size_t trials) const;
  // What a step of all the trials took in the arrangement that For gave.
  void Measured(std::size_t trials, double seconds);

 private:
  // What steps took, for one trial on the core that has the most of them.
  struct Times {
    int uncounted = 0;     // steps of the measurement that is under way
    double counted_s = 0;  // of all trials
    std::vector<double> of_trial_s = {};
    std::vector<double> medians = {};  // of the measurements before
  };
  using Widths = std::vector<Arrangement>;  // of the same workers, the widest first

  // One after another, then side by side.
  std::vector<Widths> AllFor(std::size_t trials) const;
  // What a step of all the trials takes; nothing is known of it yet: 0.
  double SecondsOf(const Arrangement& arrangement, std::size_t trials) const;
  std::size_t TimesMeasured(const Arrangement& arrangement) const;
  // The first arrangement that is not measured yet; width 0 if none is left.
  Arrangement NextToMeasure(std::size_t trials) const;

  std::map<Arrangement, Times> times_;
  std::size_t most_ = SIZE_MAX;
  std::size_t cores_;
};

}  // namespace sluice::train
