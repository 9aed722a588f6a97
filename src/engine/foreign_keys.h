#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sluice {

// Keys of other tuners, each with what to write here instead.
const std::vector<std::pair<std::string, std::string>>& ForeignKeys();

}  // namespace sluice
