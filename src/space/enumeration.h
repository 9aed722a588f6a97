#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "space/space.h"

namespace sluice {

// The most steps taken before a space counts as too large to be enumerated. A step sets a value, or
// evaluates a few instructions of an expression.
constexpr std::uint64_t kMostSteps = 5'000'000;

// Goes through the points of a space of discrete parameters, each once. The order is that of a
// counter with the parameters' values as digits, the last in Space::order turning fastest. A
// parameter that is not active takes a single value, kInactive. A constraint is checked as soon as
// all parameters it mentions are set, so that whole branches are skipped. The space must outlive
// the enumerator.
class PointEnumerator {
 public:
  explicit PointEnumerator(const Space& space, std::uint64_t most_steps = kMostSteps);

  // Moves on to the next point. False if there is none.
  bool Next();
  const Point& point() const { return point_; }
  // Whether the enumeration ended early, after `most_steps`.
  bool gave_up() const { return steps_ >= most_steps_; }

 private:
  bool SetFirst(std::size_t depth);
  bool SetNext(std::size_t depth);
  bool Holds(std::size_t depth) const;

  const Space& space_;
  std::uint64_t most_steps_;
  std::vector<std::uint64_t> counts_;  // by parameter
  // By depth: the constraints whose parameters are all set once order()[depth] is set.
  std::vector<std::vector<std::size_t>> rules_;
  std::vector<std::uint64_t> costs_;  // by depth, in steps
  // By depth: the number of the current value; nothing where the parameter is not active.
  std::vector<std::optional<std::uint64_t>> numbers_;
  Point point_;
  std::uint64_t steps_ = 0;
  bool started_ = false;
  bool finished_ = false;
};

// The number of points; nothing if a parameter is continuous or there are too many points.
std::optional<std::uint64_t> CountPoints(const Space& space);

}  // namespace sluice
