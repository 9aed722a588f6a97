#include "data/batches/batch_order.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/check.h"

namespace sluice::data {
namespace {

// Trials of a bundle differ by an epoch or two; a permutation of a million examples is 4 MB.
constexpr std::size_t kEpochsKept = 4;

std::int64_t StepsPerEpoch(const BatchOrder::Options& options) {
  const std::int64_t whole = options.examples / options.batch;
  const bool has_rest = options.examples % options.batch != 0;
  return std::max<std::int64_t>(1, whole + (has_rest && !options.drop_last ? 1 : 0));
}

}  // namespace

BatchOrder::BatchOrder(const Options& options) : options_(options), steps_per_epoch_(1) {
  SLUICE_CHECK(options.examples >= 1 && options.examples <= kMostExamples,
               "the number of examples was checked");
  SLUICE_CHECK(options.batch >= 1, "a batch has examples");
  steps_per_epoch_ = StepsPerEpoch(options);
}

const std::vector<std::uint32_t>& BatchOrder::Permutation(std::int64_t epoch) {
  const auto found = std::ranges::find(epochs_, epoch, [](const auto& each) { return each.first; });
  if (found != epochs_.end()) {
    std::rotate(found, found + 1, epochs_.end());
    return epochs_.back().second;
  }
  if (epochs_.size() == kEpochsKept) epochs_.pop_front();
  std::vector<std::uint32_t> places(static_cast<std::size_t>(options_.examples));
  std::iota(places.begin(), places.end(), std::uint32_t{0});
  Random random = Random(options_.seed).Fork("order").Fork(static_cast<std::uint64_t>(epoch));
  for (std::size_t i = places.size(); i-- > 1;)
    std::swap(places[i], places[static_cast<std::size_t>(random.Below(i + 1))]);
  return epochs_.emplace_back(epoch, std::move(places)).second;
}

std::vector<std::int64_t> BatchOrder::At(std::int64_t step) {
  SLUICE_CHECK(step >= 0, "steps are counted from 0");
  const std::vector<std::uint32_t>& places = Permutation(EpochOf(step));
  const std::int64_t first = step % steps_per_epoch_ * options_.batch;
  const std::int64_t many = std::min(options_.batch, options_.examples - first);
  return {places.begin() + first, places.begin() + first + many};
}

}  // namespace sluice::data
