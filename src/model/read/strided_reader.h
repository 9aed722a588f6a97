#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/read/byte_source.h"

namespace sluice::model {

// Where the elements of a tensor are. Strides and the offset are in elements, and not negative; so are sizes.
struct StridedLayout {
  std::size_t element_bytes = 1;
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};

// All elements in the order of their indices, the last index fastest; or, of one that has more than so many, evenly
// spread parts of it in the order in which they lie, in all at most so many. The bytes are read in that order, a MiB at
// a time, whatever the order of indices; gaps are read along where that is cheaper than another read. Needs a few MiB
// beside the result.
Result<std::string> ReadStrided(const ByteSource& source, const StridedLayout& layout,
                                std::size_t most_elements);

}  // namespace sluice::model
