#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "policy/policy.h"

namespace sluice {

// Trials that wait to start, in the order they came. They are taken out by shape.
class WaitingTrials {
 public:
  void Add(const WorkItem& item) {
    by_shape_[item.shape].emplace_back(added_++, &item);
    ++size_;
  }
  bool empty() const { return size_ == 0; }
  std::ptrdiff_t size() const { return size_; }

  // Takes out the trial that came first; null: there is none.
  const WorkItem* TakeFirst() {
    return TakeFirstIf([](std::string_view /*shape*/) { return true; });
  }
  // Takes out the first of the trials of these shapes; null: there is none.
  const WorkItem* TakeFirstOf(const std::set<std::string_view>& shapes) {
    return TakeFirstIf([&](std::string_view shape) { return shapes.contains(shape); });
  }

 private:
  // Trials of one shape, each with its number in the order in which all trials came.
  using Queue = std::deque<std::pair<int, const WorkItem*>>;

  template <typename Fits>
  const WorkItem* TakeFirstIf(Fits fits) {
    Queue* first = nullptr;
    for (auto& [shape, queue] : by_shape_) {
      if (queue.empty() || !fits(shape)) continue;
      if (first == nullptr || queue.front().first < first->front().first) first = &queue;
    }
    if (first == nullptr) return nullptr;
    const WorkItem* item = first->front().second;
    first->pop_front();
    --size_;
    return item;
  }

  std::map<std::string_view, Queue> by_shape_;
  int added_ = 0;
  std::ptrdiff_t size_ = 0;
};

}  // namespace sluice
