#pragma once

#include <exception>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace sluice::train {

// What PyTorch or the C++ library has thrown, as an error: out_of_memory or invalid_argument. The
// message begins with `where`.
std::unexpected<Error> FailureOf(const std::exception& thrown, std::string_view where);

// Returns what `task` returns, a Result or a Status. What it throws becomes an error.
template <typename Task>
std::invoke_result_t<Task> Guarded(std::string_view where, const Task& task) {
  try {
    return task();
  } catch (const std::exception& thrown) {
    return FailureOf(thrown, where);
  }
}

}  // namespace sluice::train
