#pragma once

#include <string>
#include <string_view>

namespace sluice::model {

// A JSON text in which Infinity, -Infinity and NaN stand outside of texts, as Python's json writes them unless it is told
// not to, with quotes around each, as PyTorch writes them.
std::string WithQuotedNumbers(std::string_view json);

}  // namespace sluice::model
