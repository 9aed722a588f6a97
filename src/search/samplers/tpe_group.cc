#include "search/samplers/tpe_group.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/digest.h"

namespace sluice {
namespace {

constexpr std::size_t kMostGood = 18;
constexpr std::size_t kRecent = 25;  // bad trials that count in full
// With fewer bad trials than this, kernel widths follow the gaps between them
// (search/samplers/parzen.h), which fits a few points closely. With many trials one width for all
// kernels is steadier, and much cheaper.
constexpr std::size_t kFewBad = 50;
constexpr double kWidth = 0.2;  // of one kernel

std::size_t GoodOf(std::size_t trials) { return std::min((trials + 9) / 10, kMostGood); }

bool IsSampled(TrialId trial, int thinning) {
  const std::uint64_t hash = Digest().Add(std::uint64_t{Number(trial)}).Value();
  return (hash & ((std::uint64_t{1} << thinning) - 1)) == 0;
}

int ThinningOf(std::size_t trials) {
  return trials == 0 ? 0 : static_cast<int>(std::bit_width((trials - 1) / TpeGroup::kMostKernels));
}

// Scott's rule: the more kernels, the narrower they are.
double WidthOf(std::size_t kernels, std::size_t axes) {
  return kWidth * std::pow(static_cast<double>(std::max<std::size_t>(kernels, 1)),
                           -1 / (static_cast<double>(axes) + 4));
}

double NarrowestOf(std::size_t kernels) {
  return 1 / std::min(100.0, 2.0 + static_cast<double>(kernels));
}

}  // namespace

TpeTrial TrialOf(const Observation& observation, const std::vector<Work>& levels) {
  const Outcome outcome = observation.outcome;
  TpeTrial trial{.id = observation.trial, .runs = outcome == Outcome::kRunning};
  const bool complete = outcome == Outcome::kComplete;
  const bool ended = complete || outcome == Outcome::kStopped || outcome == Outcome::kFailed;
  if (outcome == Outcome::kFailed || std::isnan(observation.value)) {
    trial.failed = ended;
    return trial;
  }
  for (const double loss : observation.by_level)
    trial.losses.push_back(std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss);
  std::size_t passed = levels.size();
  if (!complete)
    passed = static_cast<std::size_t>(std::ranges::upper_bound(levels, observation.work) -
                                      levels.begin());
  if (ended) passed = std::max<std::size_t>(passed, 1);
  if (passed > trial.losses.size()) trial.losses.resize(passed, observation.value);
  return trial;
}

TpeGroup::TpeGroup(const Space& space, std::vector<std::size_t> parameters, std::size_t levels)
    : parameters_(std::move(parameters)), levels_(std::max<std::size_t>(levels, 1)) {
  for (const std::size_t index : parameters_) axes_.push_back(AxisOf(space, index));
}

void TpeGroup::Ranking::Add(double loss, const TpeTrial& trial) {
  ranked[{loss, trial.id}] = &trial;
  if (ThinningOf(ranked.size()) != thinning) {
    Resample();
  } else if (IsSampled(trial.id, thinning)) {
    sampled[trial.id] = &trial;
  }
}

void TpeGroup::Ranking::Remove(double loss, const TpeTrial& trial) {
  ranked.erase({loss, trial.id});
  sampled.erase(trial.id);
  if (ThinningOf(ranked.size()) != thinning) Resample();
}

void TpeGroup::Ranking::Resample() {
  thinning = ThinningOf(ranked.size());
  sampled.clear();
  for (const auto& [key, trial] : ranked)
    if (IsSampled(trial->id, thinning)) sampled[trial->id] = trial;
}

void TpeGroup::Add(const TpeTrial& trial) {
  if (trial.runs) running_[trial.id] = &trial;
  if (trial.failed) failed_.Add(0, trial);
  for (std::size_t k = 0; k < trial.losses.size(); ++k) levels_[k].Add(trial.losses[k], trial);
}

void TpeGroup::Remove(const TpeTrial& trial) {
  if (trial.runs) running_.erase(trial.id);
  if (trial.failed) failed_.Remove(0, trial);
  for (std::size_t k = 0; k < trial.losses.size(); ++k) levels_[k].Remove(trial.losses[k], trial);
}

std::size_t TpeGroup::ComparedLevel() const {
  std::size_t level = levels_.size() - 1;
  while (level > 0 && levels_[level].ranked.size() < kCompared) --level;
  return level;
}

TpeGroup::ById TpeGroup::BestAt(std::size_t level) const {
  const auto& ranked = levels_[level].ranked;
  const std::size_t count = std::min(GoodOf(this->ranked()), (ranked.size() + 3) / 4);
  ById best;
  for (auto at = ranked.begin(); best.size() < count; ++at) best[at->second->id] = at->second;
  return best;
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

// Older trials count less, down to nothing for the oldest. The latest kRecent trials count in full.
// A trial that stands for several in a sample counts for all of them.
TpeGroup::Rows TpeGroup::BadRows(std::size_t level, const ById& good,
                                 std::span<const std::vector<double>> pending) const {
  struct Bad {
    const TpeTrial* trial;
    double count;  // how many trials it stands for
  };
  std::vector<Bad> bad;
  double all = 0;
  const auto add = [&](const Ranking& ranking, std::size_t good_there) {
    const std::size_t before = bad.size();
    for (const auto& [id, trial] : ranking.sampled)
      if (!good.contains(id)) bad.push_back({trial, 0});
    const auto count = static_cast<double>(ranking.ranked.size() - good_there);
    for (std::size_t i = before; i < bad.size(); ++i)
      bad[i].count = count / static_cast<double>(bad.size() - before);
    all += count;
    return before;
  };
  add(levels_[level], good.size());
  const std::size_t passed = add(failed_, 0);  // how many of `bad` have passed the level
  // By age: trials known from earlier studies are older than the study's own.
  const auto id_of = [](const Bad& each) { return each.trial->id; };
  std::ranges::inplace_merge(bad, bad.begin() + static_cast<std::ptrdiff_t>(passed), {}, id_of);
  std::ranges::rotate(bad, std::ranges::lower_bound(bad, kFirstKnownTrial, {}, id_of));
  Rows rows;
  double older = 0;
  for (const Bad& each : bad) {
    const double middle = older + each.count / 2;
    const bool recent = all - middle <= kRecent;
    rows.Add(parameters_, each.trial->unit, each.count * (recent ? 1 : middle / all));
    older += each.count;
  }
  for (const auto& [id, trial] : running_)
    if (!trial->HasPassed(level)) rows.Add(parameters_, trial->unit, 1);
  for (const std::vector<double>& unit : pending)
    if (!std::isnan(unit[parameters_.front()])) rows.Add(parameters_, unit, 1);
  return rows;
}

TpeGroup::Densities TpeGroup::MakeDensities(std::span<const std::vector<double>> pending) const {
  SLUICE_CHECK(ranked() > 0, "densities are made of trials");
  const std::size_t level = ComparedLevel();
  const ById good = BestAt(level);
  Rows good_rows;
  for (const auto& [id, trial] : good) good_rows.Add(parameters_, trial->unit, 1);
  const Rows bad_rows = BadRows(level, good, pending);
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
