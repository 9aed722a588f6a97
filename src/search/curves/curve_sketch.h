#pragma once

#include <span>
#include <vector>

#include "base/digest.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/state.h"

namespace sluice {

// A trial's learning curve in bounded space: means over bins of half an octave of work (0, 1, 2, 3,
// 4-5, 6-7, 8-11, ...). If there are too many bins, the lowest two are merged: the beginning of a
// curve tells least about its end. A trial that resumes from an older checkpoint reports the same
// work again, which does no harm to a mean.
class CurveSketch {
 public:
  struct Bin {
    double work = 0;  // mean
    double loss = 0;  // mean
    int count = 0;
    friend bool operator==(const Bin&, const Bin&) = default;
  };
  static constexpr std::size_t kMostBins = 40;

  // A loss that is NaN or infinite (from 1e150 on) only marks the trial as diverged.
  void Add(Work work, double loss);

  bool diverged() const { return diverged_; }
  Work done() const { return done_; }  // the most work reported
  std::span<const Bin> bins() const { return bins_; }

  void Save(StateWriter& writer) const;
  // Fails with Corruption on a state that Save does not write. The sketch is then not usable.
  Status Load(StateReader& reader);
  void AddTo(Digest& digest) const;

 private:
  std::vector<Bin> bins_;  // by work
  Work done_ = 0;
  bool diverged_ = false;
};

}  // namespace sluice
