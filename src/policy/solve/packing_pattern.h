#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

// One device, and what could be put on it: whole numbers of several items, each taking some of every
// resource. The smaller question inside the assignment problem (policy/assignment_problem.h).
constexpr std::size_t kPackingResources = 5;
using Amounts = std::array<std::int64_t, kPackingResources>;

struct PatternItem {
  Amounts takes{};    // of each resource, none below 0
  double profit = 0;  // of each one; may be below 0
  int most = 0;       // of them
};

struct PatternProblem {
  Amounts room{};  // of each resource; below 0 counts as 0
  std::vector<PatternItem> items;
};

// How many of each item.
struct Pattern {
  std::vector<int> counts;
  double profit = 0;
};

struct BestPattern {
  Pattern pattern;
  double bound =
      0;  // on the profit of every pattern; that of this one if the search came to its end
};

// The most profitable pattern; the empty one has profit 0. Each look at an item takes 1 off `work`; when it is
// used up, the best until then.
BestPattern FindBestPattern(const PatternProblem& problem, std::int64_t& work);

struct PatternList {
  bool complete = false;  // or it was given up, at one of the limits
  std::vector<Pattern> patterns;
};

// All patterns with at least this profit, the empty one too if it has.
PatternList ListPatterns(const PatternProblem& problem, double least_profit,
                         std::size_t most_patterns, std::int64_t& work);

}  // namespace sluice
