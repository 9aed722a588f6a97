#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/digest.h"
#include "base/ids.h"
#include "base/result.h"

namespace sluice {

class StateReader;
class StateWriter;

// The value a trial recorded at a rung.
struct Mark {
  double value = 0;
  TrialId trial{};
};

// Smaller values first, NaN after everything, ties by the smaller trial id. A strict total order
// over different trials.
bool Better(const Mark& a, const Mark& b);

// The marks of one rung, split into the best max(least_top, floor(n / eta)) of n and the others.
// Marks are only added and the split only moves up by one, so two heaps that touch at the split do:
// O(log n) and 16 bytes a mark, where an ordered tree would take 64.
class Ranking {
 public:
  struct Options {
    std::int64_t eta = 3;
    std::size_t least_top = 0;
  };
  explicit Ranking(Options options) : options_(options) {}

  void Add(const Mark& mark);
  // Whether a mark that was added is among the best, as of now.
  bool InTop(const Mark& mark) const { return !top_.empty() && !Better(top_.front(), mark); }
  std::size_t size() const { return top_.size() + rest_.size(); }
  // Best first.
  std::vector<Mark> Sorted() const;

  void Save(StateWriter& writer) const;
  // Corruption, with the ranking as it was, on anything that Save does not write.
  Status Load(StateReader& reader);
  void AddTo(Digest& digest) const;

 private:
  std::size_t TopSize(std::size_t size) const;

  Options options_;
  std::vector<Mark> top_;   // heap with its worst in front
  std::vector<Mark> rest_;  // heap with its best in front
};

}  // namespace sluice
