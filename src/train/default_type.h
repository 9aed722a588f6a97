#pragma once

#include <c10/core/DefaultDtype.h>

#include "train/torch.h"

namespace sluice::train {

// Some operators make tensors of the default type, which is one for the process. While this object
// lives, it is the type in which a network computes. Threads that compute in the type that it is
// already only read it.
class DefaultType {
 public:
  explicit DefaultType(at::ScalarType real)
      : before_(c10::get_default_dtype()), changes_(before_ != c10::scalarTypeToTypeMeta(real)) {
    if (changes_) c10::set_default_dtype(c10::scalarTypeToTypeMeta(real));
  }
  ~DefaultType() {
    if (changes_) c10::set_default_dtype(before_);
  }
  DefaultType(const DefaultType&) = delete;
  DefaultType& operator=(const DefaultType&) = delete;

 private:
  caffe2::TypeMeta before_;
  bool changes_;
};

}  // namespace sluice::train
