#pragma once

#include <cstddef>
#include <vector>

#include "policy/solve/packing_pattern.h"

namespace sluice {

struct SetItem {
  std::vector<double> worths;  // of the first copy, of the second, ...; never rising
  Amounts takes{};             // of each resource
};

bool Fits(const Amounts& takes, const Amounts& room);

// The counts of items that form the set with the highest worth within `room`. `bound` is the index
// of the resource from which the search computes its upper bound on the worth of a set. After a few
// thousand looks it returns the best set found until then.
std::vector<int> FindBestSet(const std::vector<SetItem>& items, const Amounts& room,
                             std::size_t bound);

}  // namespace sluice
