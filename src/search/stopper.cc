#include "search/stopper.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "search/asha.h"
#include "search/asha_promotion.h"
#include "search/none.h"

namespace sluice {
namespace {

struct Kind {
  const char* name;
  bool needs_max_budget;
  std::unique_ptr<Stopper> (*make)(const StopperSpec& spec);
};

template <typename T>
std::unique_ptr<Stopper> Make(const StopperSpec& spec) {
  return std::make_unique<T>(spec);
}

constexpr std::array kKinds = {
    Kind{"none", false, Make<NoStopper>},
    Kind{"asha", true, Make<Asha>},
    Kind{"asha-promotion", true, Make<AshaPromotion>},
};

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
  return {};
}

}  // namespace

const std::vector<std::string>& StopperNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Kind& kind : kKinds) all.emplace_back(kind.name);
    return all;
  }();
  return names;
}

Result<std::unique_ptr<Stopper>> MakeStopper(const StopperSpec& spec) {
  const auto kind = std::ranges::find(kKinds, spec.name, &Kind::name);
  if (kind == kKinds.end()) {
    return NotFound(fmt::format("expected one of the stoppers {}, found '{}'{}",
                                Join(StopperNames()), spec.name,
                                DidYouMean(spec.name, StopperNames())));
  }
  SLUICE_TRY(Check(spec, kind->needs_max_budget));
  return kind->make(spec);
}

}  // namespace sluice
