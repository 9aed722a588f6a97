#pragma once

#include <vector>

#include "policy/amounts.h"

namespace sluice {

struct SetItem {
  std::vector<double> worths;  // of the first copy, of the second, ...; never rising
  Amounts takes{};
};

// The counts of items that form the set with the highest worth within `room`. `bound` is the
// resource from which the search computes its upper bound on the worth of a set. After a few
// thousand looks at items it returns the best set found until then.
std::vector<int> FindBestSet(const std::vector<SetItem>& items, const Amounts& room,
                             Resource bound);

}  // namespace sluice
