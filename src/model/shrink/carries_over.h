#pragma once

#include <string>
#include <string_view>

namespace sluice::model {

// Why values of a hyperparameter that were found on a narrower network may not hold on the
// original, judged by the name of the hyperparameter. Empty if they should hold.
std::string WhyItDoesNotCarryOver(std::string_view hyperparameter);

}  // namespace sluice::model
