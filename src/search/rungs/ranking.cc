#include "search/rungs/ranking.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/fields.h"
#include "base/planted.h"
#include "base/state.h"

namespace sluice {
namespace {

constexpr auto kBetter = [](const Mark& a, const Mark& b) { return Better(a, b); };
constexpr auto kWorse = [](const Mark& a, const Mark& b) { return Better(b, a); };

template <typename Below>
void Push(std::vector<Mark>& heap, const Mark& mark, Below below) {
  heap.push_back(mark);
  std::push_heap(heap.begin(), heap.end(), below);
}

template <typename Below>
Mark Pop(std::vector<Mark>& heap, Below below) {
  std::pop_heap(heap.begin(), heap.end(), below);
  const Mark mark = heap.back();
  heap.pop_back();
  return mark;
}

}  // namespace

bool Better(const Mark& a, const Mark& b) {
  const bool a_nan = std::isnan(a.value);
  const bool b_nan = std::isnan(b.value);
  if (a_nan != b_nan) return Planted("nan-best") ? a_nan : b_nan;
  if (!a_nan && a.value != b.value) return a.value < b.value;
  return a.trial < b.trial;
}

std::size_t Quota::Of(std::size_t size) const {
  const auto part =
      static_cast<std::size_t>((share * static_cast<std::int64_t>(size) + plus) / whole);
  return std::min(size, std::max(least, part));
}

void Ranking::Add(const Mark& mark) {
  if (InTop(mark)) {
    Push(top_, mark, kBetter);
  } else {
    Push(rest_, mark, kWorse);
  }
  const std::size_t wanted = quota_.Of(size());
  if (top_.size() > wanted) Push(rest_, Pop(top_, kBetter), kWorse);
  if (top_.size() < wanted) Push(top_, Pop(rest_, kWorse), kBetter);
}

std::vector<Mark> Ranking::Sorted() const {
  std::vector<Mark> marks = top_;
  marks.insert(marks.end(), rest_.begin(), rest_.end());
  std::sort(marks.begin(), marks.end(), kBetter);
  return marks;
}

void Ranking::Save(StateWriter& writer) const {
  static_assert(kFieldsOf<Mark> == 2, "Save and Load list each field");
  const std::vector<Mark> marks = Sorted();
  writer.Put(marks.size());
  for (const Mark& mark : marks) {
    writer.Put(mark.trial);
    writer.Put(mark.value);
  }
}

Status Ranking::Load(StateReader& reader) {
  std::vector<Mark> marks(reader.Count());
  for (Mark& mark : marks) {
    reader.Get(mark.trial);
    reader.Get(mark.value);
  }
  const bool sorted =
      std::adjacent_find(marks.begin(), marks.end(),
                         [](const Mark& a, const Mark& b) { return !Better(a, b); }) == marks.end();
  if (!reader.ok() || !sorted) return Corruption("the ranking of a rung does not read back");
  // Sorted marks are heaps already.
  const auto split = marks.begin() + static_cast<std::ptrdiff_t>(quota_.Of(marks.size()));
  rest_.assign(split, marks.end());
  top_.assign(std::make_reverse_iterator(split), marks.rend());
  return {};
}

void Ranking::AddTo(Digest& digest) const {
  // A sum, because the order of a heap is not part of the state.
  std::uint64_t sum = 0;
  for (const std::vector<Mark>* heap : {&top_, &rest_}) {
    for (const Mark& mark : *heap) sum += Digest().Add(mark.trial).Add(mark.value).Value();
  }
  digest.Add(size()).Add(sum);
}

}  // namespace sluice
