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
// side, those up to the trials of a core. Left out are the widths beyond two in a row that were
// clearly slower than the fastest.
class ArrangementChoice {
 public:
  // So many steps are measured of an arrangement, after some that are not, since the first steps
  // after a change are slower (caches, memory). The least time counts: other work on the machine
  // only adds.
  static constexpr int kUncountedSteps = 2;
  static constexpr int kCountedSteps = 5;
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
  struct Times {
    int steps = 0;
    double least_s = 0;  // of a step of one trial, on the core that has the most of them
  };
  using Widths = std::vector<Arrangement>;  // of the same workers, the widest first

  // One after another, then side by side.
  std::vector<Widths> AllFor(std::size_t trials) const;
  // What a step of all the trials takes; nothing is known of it yet: 0.
  double SecondsOf(const Arrangement& arrangement, std::size_t trials) const;
  bool IsMeasured(const Arrangement& arrangement) const;
  // The first arrangement that is not measured yet; width 0 if none is left.
  Arrangement NextToMeasure(std::size_t trials) const;

  std::map<Arrangement, Times> times_;
  std::size_t most_ = SIZE_MAX;
  std::size_t cores_;
};

}  // namespace sluice::train
