#include "policy/solve/set_search.h"

#include <algorithm>
#include <functional>

namespace sluice {
namespace {

// After this many looks at an item, the best set found so far is taken. This limits the time of a
// plan for one device. A guess: what more looks would find was not measured.
constexpr int kLooks = 4000;
// A set must be worth this many times as much to count as better. So rounding errors, which are
// below 1e-14, do not choose between sets of equal worth: the first set found stays.
constexpr double kClearly = 1 + 1e-12;

// Depth-first search. Items with the most worth per amount of the bounding resource are tried
// first.
class SetSearch {
 public:
  SetSearch(const std::vector<SetItem>& items, const Amounts& room, Resource bound)
      : items_(items), free_(room), bound_(bound), counts_(items.size()), best_(items.size()) {
    for (const SetItem& item : items) {
      const auto takes = static_cast<double>(std::max<std::int64_t>(item.takes.*bound, 1));
      densities_.push_back(item.worths.front() / takes);
      order_.push_back(order_.size());
    }
    std::ranges::stable_sort(order_, std::greater(), [&](std::size_t i) { return densities_[i]; });
    Visit(0, 0);
  }
  const std::vector<int>& best() const { return best_; }

 private:
  void Visit(std::size_t from, double worth) {
    if (worth > most_ * kClearly) {
      most_ = worth;
      best_ = counts_;
    }
    for (std::size_t rank = from; rank < order_.size(); ++rank) {
      if (--looks_ < 0) return;
      const std::size_t i = order_[rank];
      const double at_most = worth + densities_[i] * static_cast<double>(free_.*bound_);
      if (at_most <= most_ * kClearly) return;
      const SetItem& item = items_[i];
      if (counts_[i] >= std::ssize(item.worths) || !Fits(item.takes, free_)) continue;
      free_ -= item.takes;
      const double more = item.worths[static_cast<std::size_t>(counts_[i]++)];
      Visit(rank, worth + more);
      --counts_[i];
      free_ += item.takes;
    }
  }

  const std::vector<SetItem>& items_;
  Amounts free_;
  Resource bound_;
  std::vector<double> densities_;
  std::vector<std::size_t> order_;
  std::vector<int> counts_;
  std::vector<int> best_;
  double most_ = 0;
  int looks_ = kLooks;
};

}  // namespace

std::vector<int> FindBestSet(const std::vector<SetItem>& items, const Amounts& room,
                             Resource bound) {
  return SetSearch(items, room, bound).best();
}

}  // namespace sluice
