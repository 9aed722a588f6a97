#include "search/stopper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "search/stoppers/asha.h"
#include "search/stoppers/asha_pausing.h"
#include "search/stoppers/asha_promotion.h"
#include "search/stoppers/halving.h"
#include "search/stoppers/none.h"
#include "search/stoppers/patience.h"
#include "search/stoppers/pbt.h"
#include "search/stoppers/pbt_async.h"
#include "search/stoppers/percentile.h"
#include "search/stoppers/perturbation.h"

namespace sluice {
namespace {

struct StopperKind {
  const char* name;
  bool needs_max_budget;
  std::unique_ptr<Stopper> (*make)(const StopperSpec& spec);
  std::vector<std::string> options;
};

template <typename T>
std::unique_ptr<Stopper> Make(const StopperSpec& spec) {
  return std::make_unique<T>(spec);
}

std::unique_ptr<Stopper> MakeMedian(const StopperSpec& spec) {
  StopperSpec median = spec;
  median.percentile = 50;
  return std::make_unique<Percentile>(median);
}

const std::vector<StopperKind>& Kinds() {
  static const auto& kinds = *new std::vector<StopperKind>{
      {"none", false, Make<NoStopper>, {}},
      {"asha", true, Make<Asha>, {}},
      {"asha-promotion", true, Make<AshaPromotion>, {}},
      {"asha-pausing", true, Make<AshaPausing>, {}},
      {"median", false, MakeMedian, {"startup", "min_trials"}},
      {"percentile", false, Make<Percentile>, {"percentile", "startup", "min_trials"}},
      {"patience", false, Make<Patience>, {"patience", "min_delta"}},
      {"sha", true, Make<Halving>, {"bracket"}},
      {"hyperband", true, Make<Halving>, {}},
      {"pbt", true, Make<Pbt>, {"interval", "quantile", "mutate"}},
      {"pbt-async", true, Make<PbtAsync>, {"interval", "quantile", "mutate"}},
  };
  return kinds;
}

const StopperKind* FindKind(std::string_view name) {
  const auto kind = std::ranges::find(Kinds(), name, &StopperKind::name);
  return kind == Kinds().end() ? nullptr : &*kind;
}

std::unexpected<Error> OutOfRange(std::string_view option, std::string_view expected,
                                  const auto& found) {
  return InvalidArgument(fmt::format("{}: expected {}, found {}", option, expected, found));
}

Status CheckOptions(const StopperSpec& spec) {
  const double thousandths = spec.percentile * 1000;
  if (!(spec.percentile >= 0 && spec.percentile <= 100) ||
      std::abs(thousandths - std::round(thousandths)) > 1e-6) {
    return OutOfRange("percentile", "0 to 100 with at most three decimals", spec.percentile);
  }
  if (spec.startup < 0) return OutOfRange("startup", "0 or more", spec.startup);
  if (spec.min_trials < 1) return OutOfRange("min_trials", "1 or more", spec.min_trials);
  if (spec.patience < 1) return OutOfRange("patience", "1 or more", spec.patience);
  if (!(spec.min_delta >= 0) || std::isinf(spec.min_delta)) {
    return OutOfRange("min_delta", "a number of 0 or more", spec.min_delta);
  }
  if (spec.bracket < 0) return OutOfRange("bracket", "1 or more", spec.bracket);
  const double thousandths_lost = spec.quantile * 1000;
  if (!(spec.quantile > 0 && spec.quantile <= 0.5) ||
      std::abs(thousandths_lost - std::round(thousandths_lost)) > 1e-6) {
    return OutOfRange("quantile", "above 0 and at most 0.5, with at most three decimals",
                      spec.quantile);
  }
  if (spec.interval < 0) return OutOfRange("interval", "1 or more", spec.interval);
  return {};
}

// Checks the interval of a spec that has a max_budget.
Status CheckInterval(const StopperSpec& spec) {
  if (spec.interval == 0) return {};
  if (spec.interval >= spec.max_budget) {
    return OutOfRange(
        "interval",
        fmt::format(
            "less than {}, the full budget, so that trials are judged before their end (leave "
            "it out for a tenth of that)",
            spec.max_budget),
        spec.interval);
  }
  if (spec.max_budget / spec.interval > Perturbation::kMostStages) {
    return OutOfRange(
        "interval",
        fmt::format("at least {}, so that there are at most {} of them",
                    spec.max_budget / Perturbation::kMostStages + 1, Perturbation::kMostStages),
        spec.interval);
  }
  return {};
}

Status Check(const StopperSpec& spec, bool needs_max_budget) {
  if (spec.eta < 2)
    return InvalidArgument(fmt::format("eta: expected 2 or more, found {}", spec.eta));
  if (spec.min_budget < 1) {
    return InvalidArgument(
        fmt::format("min_budget: expected 1 or more, found {}", spec.min_budget));
  }
  if (spec.max_budget < 1) {
    return InvalidArgument(
        fmt::format("max_budget: expected 1 or more, found {}", spec.max_budget));
  }
  SLUICE_TRY(CheckOptions(spec));
  if (!needs_max_budget) return {};
  if (spec.max_budget == kNoLimit) {
    return InvalidArgument(fmt::format(
        "max_budget: the stopper {} needs the full budget of a trial, found none: set it",
        spec.name));
  }
  if (spec.min_budget > spec.max_budget) {
    return InvalidArgument(fmt::format("min_budget: expected at most max_budget = {}, found {}",
                                       spec.max_budget, spec.min_budget));
  }
  return CheckInterval(spec);
}

}  // namespace

void Stopper::AdmitFork(TrialId, TrialId) {
  SLUICE_CHECK(false, "only a stopper that forks is told of forks");
}

const std::vector<std::string>& StopperNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const StopperKind& kind : Kinds()) all.emplace_back(kind.name);
    return all;
  }();
  return names;
}

const std::vector<std::string>& StopperOptions(std::string_view name) {
  const StopperKind* kind = FindKind(name);
  SLUICE_CHECK(kind != nullptr, "options are asked of a stopper there is");
  return kind->options;
}

const std::vector<std::string>& AllStopperOptions() {
  static const std::vector<std::string> options = [] {
    std::vector<std::string> all;
    for (const StopperKind& kind : Kinds()) {
      for (const std::string& option : kind.options) {
        if (std::ranges::find(all, option) == all.end()) all.push_back(option);
      }
    }
    return all;
  }();
  return options;
}

bool NeedsMaxBudget(std::string_view name) {
  const StopperKind* kind = FindKind(name);
  return kind != nullptr && kind->needs_max_budget;
}

bool IsPopulation(std::string_view name) { return name == "pbt" || name == "pbt-async"; }

bool ComparesAtRungs(std::string_view name) {
  return name.starts_with("asha") || name == "sha" || name == "hyperband";
}

Result<std::unique_ptr<Stopper>> MakeStopper(const StopperSpec& spec) {
  const StopperKind* kind = FindKind(spec.name);
  if (kind == nullptr) {
    return NotFound(fmt::format("expected one of the stoppers {}, found '{}'{}",
                                Join(StopperNames()), spec.name,
                                DidYouMean(spec.name, StopperNames())));
  }
  SLUICE_TRY(Check(spec, kind->needs_max_budget));
  return kind->make(spec);
}

}  // namespace sluice
