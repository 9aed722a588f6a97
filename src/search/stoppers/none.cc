#include "search/stoppers/none.h"

namespace sluice {

void NoStopper::AddTo(Digest& digest) const { digest.Add("none").Add(max_budget_); }

}  // namespace sluice
