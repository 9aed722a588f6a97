#pragma once

#include <string>
#include <string_view>

namespace sluice::model {

// Puts quotes around each Infinity, -Infinity and NaN that stands outside of texts in a JSON text.
// Python's json writes them without quotes unless it is told not to. PyTorch writes them with
// quotes.
std::string WithQuotedNumbers(std::string_view json);

}  // namespace sluice::model
