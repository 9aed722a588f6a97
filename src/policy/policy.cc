#include "policy/policy.h"

#include <fmt/format.h>

#include "base/text.h"
#include "policy/confluence/confluence.h"
#include "policy/published/fifo.h"
#include "policy/published/fluid.h"
#include "policy/published/hydro.h"
#include "policy/published/hypersack.h"
#include "policy/published/hypersched.h"
#include "policy/published/lpt.h"

namespace sluice {

const std::vector<std::string>& PolicyNames() {
  static const std::vector<std::string> names = {"fifo",          "lpt",          "fluid-static",
                                                 "fluid-dynamic", "hypersched",   "hypersack-ff",
                                                 "hypersack-ffd", "hypersack-wf", "hypersack-wfd",
                                                 "hypersack-mip", "hydro",        "confluence"};
  return names;
}

PolicyNeeds NeedsOf(std::string_view name) {
  const bool deadline = name == "hypersched";
  return {.max_budget = deadline || name.starts_with("fluid"),
          .deadline = deadline,
          .memory = name.starts_with("hypersack") || name == "hydro"};
}

Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name) {
  if (name == "fifo") return std::make_unique<Fifo>();
  if (name == "lpt") return std::make_unique<Lpt>();
  if (name == "fluid-static") return std::make_unique<Fluid>(Fluid::Mode::kStatic);
  if (name == "fluid-dynamic") return std::make_unique<Fluid>(Fluid::Mode::kDynamic);
  if (name == "hypersack-ff") return std::make_unique<HyperSack>(HyperSack::Options{});
  if (name == "hypersack-ffd")
    return std::make_unique<HyperSack>(HyperSack::Options{.longest_first = true});
  if (name == "hypersack-wf")
    return std::make_unique<HyperSack>(HyperSack::Options{.worst_fit = true});
  if (name == "hypersack-wfd") {
    return std::make_unique<HyperSack>(
        HyperSack::Options{.longest_first = true, .worst_fit = true});
  }
  if (name == "hypersack-mip")
    return std::make_unique<HyperSack>(HyperSack::Options{.longest_first = true, .optimal = true});
  if (name == "hydro") return std::make_unique<Hydro>();
  if (name == "confluence") return std::make_unique<Confluence>();
  if (name == "hypersched") return std::make_unique<HyperSched>();
  return InvalidArgument(fmt::format("expected a policy ({}), found '{}'{}", Join(PolicyNames()),
                                     name, DidYouMean(name, PolicyNames())));
}

}  // namespace sluice
