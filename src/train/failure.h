#pragma once

#include <exception>
#include <string_view>

#include "base/result.h"

namespace sluice::train {

// What PyTorch or the C++ library has thrown, as an error: unavailable if there was not enough
// memory, invalid_argument otherwise. The message begins with `where`.
std::unexpected<Error> FailureOf(const std::exception& thrown, std::string_view where);

}  // namespace sluice::train
