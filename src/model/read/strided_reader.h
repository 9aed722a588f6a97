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

// Reads all elements in the order of their indices, the last index fastest. Of a tensor with more
// than `most_elements`, it reads evenly spread parts, at most that many elements in all, in the
// order in which they lie.
//
// The bytes are read in the order in which they lie, a MiB at a time, whatever the order of
// indices. A gap is read, too, where that is cheaper than another read. Needs a few MiB beside the
// result.
Result<std::string> ReadStrided(const ByteSource& source, const StridedLayout& layout,
                                std::size_t most_elements);

}  // namespace sluice::model
