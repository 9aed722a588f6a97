#pragma once

#include <cstdint>

#include "train/value.h"

namespace sluice::train {

// While this lives, operators that are called with tensors of In() run for all trials at once, by
// functorch's vmap. An operator has a rule for it, is made of operators that have one, or is
// refused with a c10::Error. Random operators are refused. The headers of functorch are PyTorch's
// inner ones: vmap.cc alone includes them, and a build without them has no vmap.
class Vmap {
 public:
  static bool IsThere();

  explicit Vmap(std::int64_t trials);
  ~Vmap();
  Vmap(const Vmap&) = delete;
  Vmap& operator=(const Vmap&) = delete;

  at::Tensor In(const Value& value) const;
  // Of a result: shared if it depends on no trial.
  Value Out(const at::Tensor& tensor) const;

 private:
  std::int64_t level_ = 0;
};

}  // namespace sluice::train
