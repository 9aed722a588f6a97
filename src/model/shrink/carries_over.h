#pragma once

#include <string>
#include <string_view>

namespace sluice::model {

// Why values of a hyperparameter that are good on a narrower network may not be good on the
// original network. This is judged by the name of the hyperparameter. Empty if such values should
// carry over.
std::string WhyItDoesNotCarryOver(std::string_view hyperparameter);

}  // namespace sluice::model
