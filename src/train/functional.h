#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "train/torch.h"

namespace sluice::train {

// Archives are untrusted, so no other operators are ever called than those listed here: they take
// and return tensors and numbers, and change nothing. The names are sorted, and without "aten::".
extern const std::string_view kFunctionalNames[];
extern const std::size_t kFunctionalCount;

// Looks for an operator as graphs name it ("aten.conv2d.default") among those that may be called.
struct FoundOperator {
  std::optional<c10::OperatorHandle> op;  // the functional one
  // Of an operator that writes in place: the name of the argument that it writes.
  std::string written;
};
FoundOperator FindFunctional(std::string_view name);

}  // namespace sluice::train
