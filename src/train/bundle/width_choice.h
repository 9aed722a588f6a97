#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace sluice::train {

// Chooses how many trials are stacked in one program. More trials in a program share the cost of
// calling operators and of reading the batch; but their tensors may no longer fit the caches, and
// some operators are slower for several trials than for one. Which of these weighs more depends on
// the network and the machine, so it is measured while the trials train: some steps at each of the
// widths 1, 2, 4, ... up to all trials, then all steps at the fastest. The widths that are left out
// are those beyond one that was clearly slower than the width before it.
class WidthChoice {
 public:
  // So many steps are measured at a width, after some that are not, since the first steps after a
  // change are slower (caches, memory). The least time counts: other work on the machine only adds.
  static constexpr int kUncountedSteps = 2;
  static constexpr int kCountedSteps = 5;
  // From this ratio on a width is clearly slower than another: twice what rounds differ by.
  static constexpr double kClearlySlower = 1.2;

  // No width is larger than this from now on.
  void Limit(std::size_t most) { most_ = most; }
  std::size_t most() const { return most_; }

  // The width to train so many trials at now.
  std::size_t WidthFor(std::size_t trials) const;
  // Whether the width is still being chosen.
  bool IsMeasuring(std::size_t trials) const;
  // What a step of all the trials took at the width that WidthFor gave.
  void Measured(std::size_t trials, double seconds);

 private:
  struct Times {
    int steps = 0;
    double least_s = 0;  // of a step of one trial
  };
  std::vector<std::size_t> WidthsFor(std::size_t trials) const;
  // The first width that is not measured yet; 0 if none is left.
  std::size_t NextToMeasure(std::size_t trials) const;

  std::map<std::size_t, Times> times_;  // by width
  std::size_t most_ = SIZE_MAX;
};

}  // namespace sluice::train
