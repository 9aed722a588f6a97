#include "search/stoppers/perturbation.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/state.h"

namespace sluice {
namespace {

constexpr std::int64_t kThousand = 1000;

Work CeilDivide(Work a, Work b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

Work Perturbation::IntervalOf(const StopperSpec& spec) {
  if (spec.interval > 0) return spec.interval;
  return std::max(spec.min_budget, CeilDivide(spec.max_budget, 10));
}

Perturbation::Perturbation(const StopperSpec& spec)
    : max_budget_(spec.max_budget),
      interval_(IntervalOf(spec)),
      first_(CeilDivide(spec.min_budget, interval_) * interval_),
      stages_(first_ < max_budget_
                  ? static_cast<std::uint32_t>((max_budget_ - 1 - first_) / interval_ + 1)
                  : 0),
      share_(static_cast<std::int64_t>(std::llround(spec.quantile * kThousand))),
      seed_(spec.seed) {}

Work Perturbation::At(std::uint32_t stage) const {
  return stage < stages_ ? first_ + static_cast<Work>(stage) * interval_ : max_budget_;
}

std::uint32_t Perturbation::Passed(Work work) const {
  if (work < first_) return 0;
  return static_cast<std::uint32_t>(std::min<Work>(stages_, (work - first_) / interval_ + 1));
}

std::size_t Perturbation::Quantile(std::size_t n) const {
  const auto part =
      static_cast<std::size_t>(CeilDivide(share_ * static_cast<std::int64_t>(n), kThousand));
  return std::min(part, n / 2);
}

std::size_t Perturbation::Draw(std::size_t donors, TrialId loser, Work work) const {
  Random random =
      Random(seed_).Fork("pbt").Fork(Number(loser)).Fork(static_cast<std::uint64_t>(work));
  return random.Below(donors);
}

void Perturbation::Save(StateWriter& writer) const {
  writer.Put(max_budget_);
  writer.Put(interval_);
  writer.Put(first_);
  writer.Put(share_);
}

bool Perturbation::Matches(StateReader& reader) const {
  Work max_budget = 0;
  Work interval = 0;
  Work first = 0;
  std::int64_t share = 0;
  reader.Get(max_budget);
  reader.Get(interval);
  reader.Get(first);
  reader.Get(share);
  return reader.ok() && max_budget == max_budget_ && interval == interval_ && first == first_ &&
         share == share_;
}

}  // namespace sluice
