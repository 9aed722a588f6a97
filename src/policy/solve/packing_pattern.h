#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/amounts.h"

namespace sluice {

// The knapsack problem of one device: how many of each item to put on it, where each item takes
// some of every resource. It is the subproblem of the assignment problem
// (policy/solve/assignment_problem.h).

struct PatternItem {
  Amounts takes{};    // never below 0
  double profit = 0;  // of one copy; may be below 0
  int most = 0;       // copies
};

struct PatternProblem {
  Amounts room{};  // below 0 counts as 0
  std::vector<PatternItem> items;
};

// How many of each item.
struct Pattern {
  std::vector<int> counts;
  double profit = 0;
};

struct BestPattern {
  Pattern pattern;
  // No pattern has a higher profit. Equal to the profit of `pattern` if the search was completed.
  double bound = 0;
};

// The most profitable pattern; the empty pattern has profit 0. Each look at an item takes 1 off
// `work`. When `work` is used up, returns the best pattern found until then.
BestPattern FindBestPattern(const PatternProblem& problem, std::int64_t& work);

struct PatternList {
  bool complete = false;  // false: the search was given up at one of the limits
  std::vector<Pattern> patterns;
};

// All patterns with at least this profit, including the empty pattern if 0 is enough. The search is
// given up at `most_patterns` patterns, or when `work` is used up.
PatternList ListPatterns(const PatternProblem& problem, double least_profit,
                         std::size_t most_patterns, std::int64_t& work);

}  // namespace sluice
