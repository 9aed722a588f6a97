#include "space/enumeration.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace sluice {

PointEnumerator::PointEnumerator(const Space& space, std::uint64_t most_steps)
    : space_(space),
      most_steps_(most_steps),
      rules_(space.size()),
      costs_(space.size(), 4),
      numbers_(space.size()),
      point_(space.size(), std::numeric_limits<double>::quiet_NaN()) {
  for (const Parameter& parameter : space.parameters()) {
    const auto count = parameter.Cardinality();
    SLUICE_CHECK(count, "only discrete parameters are gone through");
    counts_.push_back(*count);
  }
  std::vector<std::size_t> depth_of(space.size());
  for (std::size_t depth = 0; depth < space.size(); ++depth) depth_of[space.order()[depth]] = depth;
  for (std::size_t i = 0; i < space.rules().size(); ++i) {
    const Expression& rule = space.rules()[i];
    if (rule.is_constant()) {
      finished_ = finished_ || rule.Evaluate({}) != Truth::kTrue;
      continue;
    }
    std::size_t last = 0;
    for (const std::size_t index : rule.mentions()) last = std::max(last, depth_of[index]);
    rules_[last].push_back(i);
    costs_[last] += rule.size();
  }
  for (std::size_t depth = 0; depth < space.size(); ++depth) {
    if (const Expression* condition = space.condition(space.order()[depth]))
      costs_[depth] += condition->size();
    costs_[depth] /= 4;
  }
}

bool PointEnumerator::Holds(std::size_t depth) const {
  return std::ranges::all_of(rules_[depth], [&](std::size_t rule) {
    return space_.Satisfies(point_, space_.rules()[rule]);
  });
}

bool PointEnumerator::SetFirst(std::size_t depth) {
  const std::size_t index = space_.order()[depth];
  steps_ += costs_[depth];
  if (space_.IsActive(point_, index)) {
    numbers_[depth] = 0;
    point_[index] = space_.Nth(index, 0);
  } else {
    numbers_[depth].reset();
    point_[index] = std::numeric_limits<double>::quiet_NaN();
  }
  return Holds(depth);
}

bool PointEnumerator::SetNext(std::size_t depth) {
  const std::size_t index = space_.order()[depth];
  while (!gave_up() && numbers_[depth] && *numbers_[depth] + 1 < counts_[index]) {
    steps_ += costs_[depth];
    point_[index] = space_.Nth(index, ++*numbers_[depth]);
    if (Holds(depth)) return true;
  }
  return false;
}

bool PointEnumerator::Next() {
  if (finished_) return false;
  std::size_t depth = started_ ? space_.size() : 0;  // how many parameters are set
  bool back = started_;
  started_ = true;
  while (true) {
    if (!back) {
      if (depth == space_.size()) return true;
      back = !SetFirst(depth++);
      continue;
    }
    while (depth > 0 && !SetNext(depth - 1)) --depth;
    if (depth == 0 || gave_up()) {
      finished_ = true;
      return false;
    }
    back = false;
  }
}

std::optional<std::uint64_t> CountPoints(const Space& space) {
  for (const Parameter& parameter : space.parameters()) {
    if (!parameter.Cardinality()) return std::nullopt;
  }
  PointEnumerator points(space);
  std::uint64_t count = 0;
  while (points.Next()) ++count;
  return points.gave_up() ? std::nullopt : std::optional(count);
}

}  // namespace sluice
