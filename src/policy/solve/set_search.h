#pragma once

#include <cstddef>
#include <vector>

#include "policy/solve/packing_pattern.h"

namespace sluice {

struct SetItem {
  std::vector<double> worths;  // of one, of one more, ...: no more than of the one before
  Amounts takes{};             // of each resource
};

bool Fits(const Amounts& takes, const Amounts& room);

// How many of each item make the set within some room that is worth most. What a set could be worth at most is told
// by what it takes of one resource, the bound. After a few thousand looks, the best set until then.
std::vector<int> FindBestSet(const std::vector<SetItem>& items, const Amounts& room,
                             std::size_t bound);

}  // namespace sluice
