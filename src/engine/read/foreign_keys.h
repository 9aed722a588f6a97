#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

// Keys of other tuners, each with what to write here instead.
const std::vector<std::pair<std::string, std::string>>& ForeignKeys();

// The same for the keys of a section of a study: budget, data, model, objective, resources,
// stopper, timeouts, train, train.schedule, warm_start.
const std::vector<std::pair<std::string, std::string>>& ForeignKeysOf(std::string_view section);

// Names of samplers and stoppers in other tuners, each with the name used here.
const std::vector<std::pair<std::string, std::string>>& ForeignSamplers();
const std::vector<std::pair<std::string, std::string>>& ForeignStoppers();

// The same for a sweep: keys of studies and of other tuners that a sweep cannot have, each with
// what to write instead.
const std::vector<std::pair<std::string, std::string>>& ForeignSweepKeys();

}  // namespace sluice
