#include "policy/policy.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sluice {

Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name) {
  const PolicyTraits* traits = FindPolicy(name);
  if (traits == nullptr) {
    return InvalidArgument(fmt::format("expected a policy ({}), found '{}'{}", Join(PolicyNames()),
                                       name, DidYouMean(name, PolicyNames())));
  }
  std::unique_ptr<Policy> policy = traits->make();
  policy->SetTraits(*traits);
  return policy;
}

}  // namespace sluice
