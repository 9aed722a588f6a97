#include "sim/advice.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace sluice {
namespace {

// The losses, with the worst loss of all contenders in place of NaN.
std::vector<std::vector<double>> Filled(std::span<const Contender> contenders) {
  double worst = -std::numeric_limits<double>::infinity();
  for (const Contender& contender : contenders) {
    for (const double loss : contender.losses) {
      if (!std::isnan(loss)) worst = std::max(worst, loss);
    }
  }
  if (std::isinf(worst)) worst = 0;  // no run has a result
  std::vector<std::vector<double>> filled;
  for (const Contender& contender : contenders) {
    std::vector<double>& losses = filled.emplace_back(contender.losses);
    for (double& loss : losses) loss = std::isnan(loss) ? worst : loss;
  }
  return filled;
}

class Comparer {
 public:
  Comparer(std::span<const Contender> contenders, double least_gain)
      : losses_(Filled(contenders)),
        least_gain_(least_gain),
        chance_(0.05 / static_cast<double>(std::max<std::size_t>(1, contenders.size() - 1))) {}

  Comparison Compare(std::size_t one, std::size_t other) const {
    std::vector<double> gains;
    double mean = 0;
    for (std::size_t seed = 0; seed < losses_[one].size(); ++seed) {
      gains.push_back(losses_[other][seed] - losses_[one][seed]);
      mean += std::abs(losses_[other][seed]) / static_cast<double>(losses_[other].size());
    }
    Comparison comparison{.gain = EstimateOf(gains, chance_)};
    const double gain = comparison.gain.mean;
    // Differences in the last digits are rounding errors.
    const double matters = std::max(least_gain_, 1e-9) * mean;
    if (comparison.gain.count < 2 || std::abs(gain) <= matters ||
        std::abs(gain) <= comparison.gain.half_width)
      return comparison;
    comparison.standing = gain > 0 ? Standing::kBetter : Standing::kWorse;
    return comparison;
  }

 private:
  const std::vector<std::vector<double>> losses_;
  const double least_gain_;
  const double chance_;  // that an interval does not contain the true mean
};

}  // namespace

Advice Advise(std::span<const Contender> contenders, const AdviceOptions& options) {
  const auto runs = [&](std::size_t i) { return contenders[i].can_run; };
  Advice advice;
  const auto first = std::ranges::find(contenders, true, &Contender::can_run);
  SLUICE_CHECK(first != contenders.end(), "some policy can run");
  const auto simplest = std::ranges::find_if(contenders, [&](const Contender& contender) {
    return contender.can_run && contender.policy == options.simplest;
  });
  advice.baseline = static_cast<std::size_t>((simplest != contenders.end() ? simplest : first) -
                                             contenders.begin());
  const Comparer comparer(contenders, options.least_gain);
  advice.advised = advice.baseline;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Comparison& comparison = advice.beside.emplace_back(comparer.Compare(i, advice.baseline));
    const bool better = comparison.standing == Standing::kBetter;
    if (runs(i) && better && comparison.gain.mean > advice.beside[advice.advised].gain.mean)
      advice.advised = i;
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (i == advice.advised) continue;
    const Comparison comparison = comparer.Compare(i, advice.advised);
    if (runs(i) && comparison.standing == Standing::kSame) advice.as_good.push_back(i);
    const bool better = comparison.standing == Standing::kBetter;
    if (!runs(i) && better &&
        (!advice.only_in_sim ||
         advice.beside[i].gain.mean > advice.beside[*advice.only_in_sim].gain.mean))
      advice.only_in_sim = i;
  }
  return advice;
}

}  // namespace sluice
