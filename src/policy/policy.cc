#include "policy/policy.h"

#include <fmt/format.h>

#include "base/text.h"
#include "policy/fifo.h"

namespace sluice {

const std::vector<std::string>& PolicyNames() {
  static const std::vector<std::string> names = {"fifo"};
  return names;
}

Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name) {
  if (name == "fifo") return std::make_unique<Fifo>();
  return InvalidArgument(fmt::format("expected a policy ({}), found '{}'{}", Join(PolicyNames()),
                                     name, DidYouMean(name, PolicyNames())));
}

}  // namespace sluice
