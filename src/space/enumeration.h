#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "space/space.h"

namespace sluice {

// How much is done at most before a space counts as too large to be gone through: values set, and
// expressions of some length evaluated.
constexpr std::uint64_t kMostSteps = 5'000'000;

// Goes through the points of a space of discrete parameters, each once, in the order of a counter
// whose digits are the parameters' values, the last in Space::order turning fastest. A parameter
// that is not active has one value there; constraints are looked at as soon as all they mention is
// set, so that whole branches are left out at once. The space must outlive it.
class PointEnumerator {
 public:
  explicit PointEnumerator(const Space& space, std::uint64_t most_steps = kMostSteps);

  // Whether there is another point, which `point` then is.
  bool Next();
  const Point& point() const { return point_; }
  // Whether it ended early, having taken `most_steps`.
  bool gave_up() const { return steps_ >= most_steps_; }

 private:
  bool SetFirst(std::size_t depth);
  bool SetNext(std::size_t depth);
  bool Holds(std::size_t depth) const;

  const Space& space_;
  std::uint64_t most_steps_;
  std::vector<std::uint64_t> counts_;                  // by parameter
  std::vector<std::vector<std::size_t>> rules_;        // those complete once order()[depth] is set
  std::vector<std::uint64_t> costs_;                   // by depth, in steps
  std::vector<std::optional<std::uint64_t>> numbers_;  // by depth; nothing where not active
  Point point_;
  std::uint64_t steps_ = 0;
  bool started_ = false;
  bool finished_ = false;
};

// The number of points; nothing if a parameter is continuous or there are too many.
std::optional<std::uint64_t> CountPoints(const Space& space);

}  // namespace sluice
