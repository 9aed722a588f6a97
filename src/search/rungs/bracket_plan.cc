#include "search/rungs/bracket_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/planted.h"
#include "search/rungs/rungs.h"

namespace sluice {
namespace {

// More trials than there are ids, but few enough that sums do not overflow.
constexpr std::int64_t kMostTrials = std::int64_t{1} << 33;

std::int64_t SaturatedProduct(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max()
                                                : product;
}

BracketPlan PlanHalving(const StopperSpec& spec) {
  const Rungs rungs(spec);
  BracketPlan plan;
  for (std::size_t k = 0; k < rungs.size(); ++k) {
    plan.levels.push_back(rungs.Target(k));
    plan.trials = std::min(kMostTrials, SaturatedProduct(plan.trials, spec.eta));
  }
  if (spec.bracket > 0) plan.trials = std::min(kMostTrials, spec.bracket);
  return plan;
}

std::vector<BracketPlan> PlanHyperband(const StopperSpec& spec) {
  std::vector<Work> levels;  // max_budget / eta^s for s = 1, ..., s_max
  std::vector<std::int64_t> powers = {1};
  for (Work level = spec.max_budget / spec.eta; level >= spec.min_budget; level /= spec.eta) {
    levels.push_back(level);
    powers.push_back(SaturatedProduct(powers.back(), spec.eta));
  }
  if (Planted("float-brackets")) {
    const double ratio =
        static_cast<double>(spec.max_budget) / static_cast<double>(spec.min_budget);
    const double power = std::log(ratio) / std::log(static_cast<double>(spec.eta));
    levels.resize(static_cast<std::size_t>(power));
    powers.resize(levels.size() + 1);
  }
  const auto brackets = static_cast<std::int64_t>(powers.size());
  std::vector<BracketPlan> plans;
  for (std::int64_t s = brackets - 1; s >= 0; --s) {
    const std::int64_t most = SaturatedProduct(brackets, powers[static_cast<std::size_t>(s)]);
    BracketPlan plan;
    plan.trials = std::min(kMostTrials, most / (s + 1) + (most % (s + 1) != 0 ? 1 : 0));
    plan.levels.assign(std::make_reverse_iterator(levels.begin() + s), levels.rend());
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace

std::vector<BracketPlan> PlanBrackets(const StopperSpec& spec) {
  if (spec.name == "hyperband") return PlanHyperband(spec);
  return {PlanHalving(spec)};
}

double TypicalWork(const StopperSpec& spec) {
  const auto full = static_cast<double>(spec.max_budget);
  const bool has_rungs =
      spec.name.starts_with("asha") || spec.name == "sha" || spec.name == "hyperband";
  if (!has_rungs) return full;
  double work = 0;
  double trials = 0;
  for (const BracketPlan& plan : PlanBrackets(spec)) {
    auto alive = static_cast<double>(plan.trials);
    double done = 0;
    trials += alive;
    for (const Work level : plan.levels) {
      work += alive * (static_cast<double>(level) - done);
      done = static_cast<double>(level);
      alive /= static_cast<double>(spec.eta);
    }
    work += alive * (full - done);
  }
  return work / trials;
}

std::vector<std::int64_t> PlacesOf(std::int64_t trials, std::int64_t eta, std::size_t levels) {
  std::vector<std::int64_t> places;
  for (std::size_t k = 0; k < levels; ++k) {
    trials /= eta;
    places.push_back(std::max<std::int64_t>(1, trials));
  }
  return places;
}

}  // namespace sluice
