#pragma once

#include <span>
#include <vector>

#include "base/digest.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/state.h"

namespace sluice {

// What is remembered of one trial's learning curve, in bounded space: means over bins of half an octave of
// work (0, 1, 2, 3, 4-5, 6-7, 8-11, ...). Where there would be too many, the lowest two become one:
// how a curve began says least of how it ends. A trial that goes on from an older checkpoint reports
// the same work again; a mean takes no harm.
class CurveSketch {
 public:
  struct Bin {
    double work = 0;  // mean
    double loss = 0;  // mean
    int count = 0;
    friend bool operator==(const Bin&, const Bin&) = default;
  };
  static constexpr std::size_t kMostBins = 40;

  // A loss that is no number, or infinite (1e150 is), says that the trial diverged, and nothing else.
  void Add(Work work, double loss);

  bool diverged() const { return diverged_; }
  Work done() const { return done_; }  // the most work reported
  std::span<const Bin> bins() const { return bins_; }

  void Save(StateWriter& writer) const;
  // Corruption, with the sketch of no use any more, on what Save does not write.
  Status Load(StateReader& reader);
  void AddTo(Digest& digest) const;

 private:
  std::vector<Bin> bins_;  // by work
  Work done_ = 0;
  bool diverged_ = false;
};

}  // namespace sluice
