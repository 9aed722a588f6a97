#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/files/byte_source.h"
#include "base/result.h"

namespace sluice::model {

// Where the elements of a tensor are. Strides and the offset are in elements. No size, stride or
// offset is negative.
struct StridedLayout {
  std::size_t element_bytes = 1;
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};

// Returns all elements in the order of their indices; the last index changes fastest. If the tensor
// has more than `most_elements` elements, only evenly spread parts are returned: at most
// `most_elements` elements in all, in the order in which they lie in the source.
//
// The source itself is read from front to back, at most one MiB at a time. A small gap between
// elements is read too, because another read would cost more.
// Besides the result, this needs a few MiB of memory.
Result<std::string> ReadStrided(const ByteSource& source, const StridedLayout& layout,
                                std::size_t most_elements);

}  // namespace sluice::model
