#pragma once

#include <string>
#include <string_view>

namespace sluice::model {

// Puts quotes around each Infinity, -Infinity and NaN that stands outside of texts in a JSON text.
// By default, Python's json module writes these numbers without quotes. PyTorch writes them with
// quotes.
std::string WithQuotedNumbers(std::string_view json);

}  // namespace sluice::model
