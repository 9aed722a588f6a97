#include "policy/policy.h"

#include <fmt/format.h>

#include "base/text.h"
#include "policy/fifo.h"
#include "policy/fluid.h"

namespace sluice {

const std::vector<std::string>& PolicyNames() {
  static const std::vector<std::string> names = {"fifo", "lpt", "fluid-static", "fluid-dynamic"};
  return names;
}

PolicyNeeds NeedsOf(std::string_view name) { return {.max_budget = name.starts_with("fluid")}; }

Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name) {
  if (name == "fifo") return std::make_unique<Fifo>();
  if (name == "lpt") return std::make_unique<Lpt>();
  if (name == "fluid-static") return std::make_unique<Fluid>(Fluid::Mode::kStatic);
  if (name == "fluid-dynamic") return std::make_unique<Fluid>(Fluid::Mode::kDynamic);
  return InvalidArgument(fmt::format("expected a policy ({}), found '{}'{}", Join(PolicyNames()),
                                     name, DidYouMean(name, PolicyNames())));
}

}  // namespace sluice
