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

// The value that a trial recorded at a rung.
struct Mark {
  double value = 0;
  TrialId trial{};
};

// Smaller values first, NaN after everything, ties by the smaller trial id. A strict total order
// over different trials.
bool Better(const Mark& a, const Mark& b);

// How many of n marks are the top: floor((share * n + plus) / whole), at least `least`, at most n.
// With 0 <= share <= whole and 0 <= plus <= whole, one more mark raises the result by one or not at
// all.
struct Quota {
  std::int64_t share = 1;
  std::int64_t whole = 1;
  std::int64_t plus = 0;
  std::size_t least = 0;
  std::size_t Of(std::size_t size) const;
};

// Marks, split into a top (the best of them, as many as the quota says) and a rest. Marks are only
// added, and a new mark moves the split up by one or not at all. So two heaps, one on each side of
// the split, are enough. A mark costs O(log n) and 16 bytes, and in an ordered tree it would take
// 64 bytes.
class Ranking {
 public:
  explicit Ranking(const Quota& quota) : quota_(quota) {}

  void Add(const Mark& mark);
  // Whether a mark that was added is in the top now.
  bool InTop(const Mark& mark) const { return !top_.empty() && !Better(top_.front(), mark); }
  std::size_t size() const { return top_.size() + rest_.size(); }
  // The marks on both sides of the split; null where that side is empty.
  const Mark* WorstOfTop() const { return top_.empty() ? nullptr : &top_.front(); }
  const Mark* BestOfRest() const { return rest_.empty() ? nullptr : &rest_.front(); }
  // Best first.
  std::vector<Mark> Sorted() const;

  void Save(StateWriter& writer) const;
  // Fails with Corruption on a state that Save does not write. The ranking is then unchanged.
  Status Load(StateReader& reader);
  void AddTo(Digest& digest) const;

 private:
  Quota quota_;
  std::vector<Mark> top_;   // heap with its worst in front
  std::vector<Mark> rest_;  // heap with its best in front
};

}  // namespace sluice
