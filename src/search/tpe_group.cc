#include "search/tpe_group.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "base/check.h"
#include "base/digest.h"

namespace sluice {
namespace {

constexpr std::size_t kMostGood = 18;
constexpr std::size_t kRecent = 25;  // bad trials that count in full
// Gaps (search/parzen.h) follow a few points closely, where one figure for all is steadier, and much
// cheaper, for many.
constexpr std::size_t kFewBad = 50;
constexpr double kWidth = 0.2;  // of one kernel

std::size_t GoodOf(std::size_t trials) { return std::min((trials + 9) / 10, kMostGood); }

bool IsSampled(TrialId trial, int level) {
  const std::uint64_t hash = Digest().Add(std::uint64_t{Number(trial)}).Value();
  return (hash & ((std::uint64_t{1} << level) - 1)) == 0;
}

int LevelOf(std::size_t trials) {
  return trials == 0 ? 0 : static_cast<int>(std::bit_width((trials - 1) / TpeGroup::kMostKernels));
}

// Scott's rule: how much narrower many kernels are.
double WidthOf(std::size_t kernels, std::size_t axes) {
  return kWidth * std::pow(static_cast<double>(std::max<std::size_t>(kernels, 1)),
                           -1 / (static_cast<double>(axes) + 4));
}

double NarrowestOf(std::size_t kernels) {
  return 1 / std::min(100.0, 2.0 + static_cast<double>(kernels));
}

}  // namespace

bool TrialRank::operator<(const TrialRank& other) const {
  return std::tuple(kind, -work, loss, Number(trial)) <
         std::tuple(other.kind, -other.work, other.loss, Number(other.trial));
}

std::optional<TrialRank> RankOf(const Observation& observation) {
  TrialRank rank{.trial = observation.trial};
  const bool has_value = !std::isnan(observation.value);
  if (observation.outcome == Outcome::kFailed) return rank;
  if (!has_value)
    return observation.outcome == Outcome::kRunning ? std::nullopt : std::optional(rank);
  rank.loss = observation.value;
  rank.kind = TrialRank::Kind::kWhole;
  if (observation.outcome == Outcome::kComplete) return rank;
  rank.kind = TrialRank::Kind::kPart;
  rank.work = observation.work;
  return rank;
}

TpeGroup::TpeGroup(const Space& space, std::vector<std::size_t> parameters)
    : parameters_(std::move(parameters)) {
  for (const std::size_t index : parameters_) axes_.push_back(AxisOf(space, index));
}

void TpeGroup::Add(TrialId trial, const std::optional<TrialRank>& rank,
                   const std::vector<double>& unit) {
  if (!rank) {
    running_[trial] = &unit;
    return;
  }
  ranked_[*rank] = &unit;
  if (LevelOf(ranked_.size()) != level_) {
    Resample();
  } else if (IsSampled(trial, level_)) {
    sampled_[trial] = &unit;
  }
}

void TpeGroup::Remove(TrialId trial, const std::optional<TrialRank>& rank) {
  if (!rank) {
    running_.erase(trial);
    return;
  }
  ranked_.erase(*rank);
  sampled_.erase(trial);
  if (LevelOf(ranked_.size()) != level_) Resample();
}

void TpeGroup::Resample() {
  level_ = LevelOf(ranked_.size());
  sampled_.clear();
  for (const auto& [rank, unit] : ranked_)
    if (IsSampled(rank.trial, level_)) sampled_[rank.trial] = unit;
}

struct TpeGroup::Rows {
  std::vector<double> coordinates;
  std::vector<double> weights;

  void Add(const std::vector<std::size_t>& parameters, const std::vector<double>& unit,
           double weight) {
    for (const std::size_t index : parameters) coordinates.push_back(unit[index]);
    weights.push_back(weight);
  }
};

TpeGroup::Rows TpeGroup::GoodRows(const std::set<TrialId>& good) const {
  // In order of ids, as everything that is summed.
  std::map<TrialId, Unit> by_id;
  for (auto at = ranked_.begin(); by_id.size() < good.size(); ++at)
    by_id[at->first.trial] = at->second;
  Rows rows;
  for (const auto& [trial, unit] : by_id) rows.Add(parameters_, *unit, 1);
  return rows;
}

// Older trials count less, down to nothing, but for the latest; one that is a sample of many counts
// for all of them.
TpeGroup::Rows TpeGroup::BadRows(const std::set<TrialId>& good,
                                 std::span<const std::vector<double>> pending) const {
  // What was known before the study began is older than its trials.
  std::vector<Unit> units;
  const auto add = [&](auto begin, auto end) {
    for (auto at = begin; at != end; ++at)
      if (!good.contains(at->first)) units.push_back(at->second);
  };
  const auto known = sampled_.lower_bound(kFirstKnownTrial);
  add(known, sampled_.end());
  add(sampled_.begin(), known);
  Rows rows;
  const auto all = static_cast<double>(ranked_.size() - good.size());
  const double each = all / static_cast<double>(std::max<std::size_t>(units.size(), 1));
  for (std::size_t i = 0; i < units.size(); ++i) {
    const double older = (static_cast<double>(i) + 0.5) * each;
    const bool recent = all - older <= kRecent;
    rows.Add(parameters_, *units[i], each * (recent ? 1 : older / all));
  }
  for (const auto& [trial, unit] : running_) rows.Add(parameters_, *unit, 1);
  for (const std::vector<double>& unit : pending)
    if (!std::isnan(unit[parameters_.front()])) rows.Add(parameters_, unit, 1);
  return rows;
}

TpeGroup::Densities TpeGroup::MakeDensities(std::span<const std::vector<double>> pending) const {
  SLUICE_CHECK(!ranked_.empty(), "densities are made of trials");
  std::set<TrialId> good;
  for (auto at = ranked_.begin(); good.size() < GoodOf(ranked_.size()); ++at)
    good.insert(at->first.trial);
  const Rows good_rows = GoodRows(good);
  const Rows bad_rows = BadRows(good, pending);
  const auto kernels = [&](const Rows& rows, std::size_t few) {
    const std::size_t count = rows.weights.size();
    return Parzen::Kernels{.rows = rows.coordinates,
                           .weights = rows.weights,
                           .width = WidthOf(count, axes_.size()),
                           .cell_width = WidthOf(count, 1),
                           .gaps = count < few,
                           .narrowest = NarrowestOf(count)};
  };
  return {.good = Parzen(axes_, kernels(good_rows, kMostGood + 1)),
          .bad = Parzen(axes_, kernels(bad_rows, kFewBad))};
}

}  // namespace sluice
