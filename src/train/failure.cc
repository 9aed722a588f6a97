#include "train/failure.h"

#include <fmt/format.h>

#include <new>
#include <string>

#include "train/torch.h"

namespace sluice::train {
namespace {

// On the CPU, PyTorch throws a c10::Error like any other, and only its text tells.
bool IsOfMemory(const std::exception& thrown, std::string_view text) {
  return dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ||
         dynamic_cast<const c10::OutOfMemoryError*>(&thrown) != nullptr ||
         text.contains("can't allocate memory") || text.contains("not enough memory");
}

}  // namespace

std::unexpected<Error> FailureOf(const std::exception& thrown, std::string_view where) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&thrown);
  const std::string text = of_torch ? of_torch->what_without_backtrace() : thrown.what();
  if (text.starts_with("not enough memory: "))  // by this room (tensor_bound.cc)
    return OutOfMemory(fmt::format("{}: {}", where, text));
  if (IsOfMemory(thrown, text))
    return OutOfMemory(fmt::format("{}: there is not enough memory for it", where));
  return InvalidArgument(fmt::format("{}: {}", where, text));
}

}  // namespace sluice::train
