#include "policy/solve/packing_pattern.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "policy/solve/linear_program.h"

namespace sluice {
namespace {

// A pattern is better only if its profit is higher by this fraction of the bound. So rounding does
// not make the search visit patterns that are no better. Rounding errors are below 1e-14, and
// differences that matter are far larger.
constexpr double kRounding = 1e-12;

// Depth-first search, item by item: each item first as often as it fits, then less and less often.
// A branch is cut if even fractions of items in the free room could not reach the profit asked for.
//
// To bound the profit of a branch, all resources are weighed together into one. The weights are the
// prices of the relaxed problem, so that at the start the bound is that of the relaxation. With one
// resource, the best fractions are found by going through the items in the order of profit per
// weight. That is also the best order to try items in. Computing a bound looks at the few items
// that fill a device. The number of bounds is limited only by `work`. Dynamic programming over
// amounts would need no such limit, since the size of its table bounds its time. But the table
// needs a dimension for each resource.
class PatternSearch {
 public:
  PatternSearch(const PatternProblem& problem, std::int64_t& work)
      : free_(AtLeastNothing(problem.room)), work_(work) {
    items_ = problem.items;
    for (PatternItem& item : items_) item.most = Fitting(item);
    Weigh();
    current_.counts.assign(items_.size(), 0);
  }

  BestPattern Best() {
    BestPattern best{.pattern = current_, .bound = Bound(0)};
    const bool finished = Visit(0, [&] {
      if (current_.profit <= best.pattern.profit) return;
      best.pattern = current_;
      asked_ = current_.profit + kRounding * best.bound;
    });
    if (finished) best.bound = best.pattern.profit;
    return best;
  }

  PatternList AtLeast(double least, std::size_t most) {
    PatternList list;
    asked_ = least;
    list.complete = Visit(0, [&] {
      if (current_.profit < least) return;
      list.patterns.push_back(current_);
      full_ = list.patterns.size() >= most;
    });
    return list;
  }

 private:
  const PatternItem& item(std::size_t rank) const { return items_[order_[rank]]; }

  int Fitting(const PatternItem& item) const {
    const std::int64_t count = HowOftenFits(item.takes, free_, item.most);
    return static_cast<int>(std::max<std::int64_t>(count, 0));
  }

  double Weight(const Amounts& amounts) const {
    double weight = 0;
    for (std::size_t r = 0; r < kResources.size(); ++r)
      weight += prices_[r] * static_cast<double>(amounts.*kResources[r]);
    return weight;
  }

  void Weigh() {
    std::vector<LinearProgram::Row> rows;
    std::array<double, kResources.size()> scale{};
    for (std::size_t r = 0; r < kResources.size(); ++r) {
      const auto free = static_cast<double>(free_.*kResources[r]);
      scale[r] = 1 / std::max(1.0, free);
      rows.push_back({.most = free * scale[r]});
    }
    LinearProgram relaxed(std::move(rows));
    for (const PatternItem& item : items_) {
      if (item.profit <= 0 || item.most == 0) continue;
      std::vector<LinearProgram::Entry> entries;
      for (std::size_t r = 0; r < kResources.size(); ++r)
        if (const std::int64_t takes = item.takes.*kResources[r]; takes > 0)
          entries.push_back({r, static_cast<double>(takes) * scale[r]});
      relaxed.AddColumn(item.profit, item.most, entries);
    }
    const LinearSolution solution = SolveLinear(relaxed);
    for (std::size_t r = 0; r < kResources.size(); ++r)
      prices_[r] = scale[r] * (solution.optimal ? solution.prices[r] : 1);

    std::vector<double> density;
    for (const PatternItem& item : items_) {
      const double weight = Weight(item.takes);
      weights_.push_back(weight);
      const double endless =
          item.profit > 0 ? std::numeric_limits<double>::infinity() : item.profit;
      density.push_back(weight > 0 ? item.profit / weight : endless);
    }
    order_.resize(items_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, [&](auto a, auto b) { return density[a] > density[b]; });
  }

  // An upper bound on the profit of filling the free room with items from this rank on.
  double Bound(std::size_t from) {
    double room = Weight(free_);
    double profit = 0;
    for (std::size_t rank = from; rank < order_.size(); ++rank) {
      --work_;
      const PatternItem& next = item(rank);
      if (next.profit <= 0) break;
      const double weight = weights_[order_[rank]];
      if (weight > 0 && weight * next.most >= room) return profit + room / weight * next.profit;
      profit += next.profit * next.most;
      room -= weight * next.most;
    }
    return profit;
  }

  void Put(std::size_t rank, int count) {
    free_ -= count * item(rank).takes;
    current_.counts[order_[rank]] += count;
    current_.profit += count * item(rank).profit;
  }

  // Shows the current pattern and all patterns that add items from this rank on, except those that
  // cannot have the profit asked for. Returns false if the search was given up.
  template <typename Show>
  bool Visit(std::size_t from, const Show& show) {
    show();
    if (full_) return false;
    const double profit = current_.profit;
    for (std::size_t rank = from; rank < order_.size(); ++rank) {
      if (--work_ < 0) return false;
      if (profit + Bound(rank) < asked_) return true;
      for (int count = Fitting(item(rank)); count > 0; --count) {
        Put(rank, count);
        const bool finished = Visit(rank + 1, show);
        Put(rank, -count);
        current_.profit = profit;  // as it was, to the last digit
        if (!finished) return false;
      }
    }
    return true;
  }

  Amounts free_;
  std::int64_t& work_;
  std::vector<PatternItem> items_;
  std::array<double, kResources.size()> prices_{};  // of kResources
  std::vector<double> weights_;                     // of items
  std::vector<std::size_t> order_;                  // items by rank
  double asked_ = 0;                                // the least profit asked for
  bool full_ = false;
  Pattern current_;
};

}  // namespace

BestPattern FindBestPattern(const PatternProblem& problem, std::int64_t& work) {
  return PatternSearch(problem, work).Best();
}

PatternList ListPatterns(const PatternProblem& problem, double least_profit,
                         std::size_t most_patterns, std::int64_t& work) {
  return PatternSearch(problem, work).AtLeast(least_profit, most_patterns);
}

}  // namespace sluice
