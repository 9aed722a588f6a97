#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "data/formats/rows.h"
#include "data/tensors/tensor_type.h"

namespace sluice::data {

// Elements of a file as int64. `dtype` is a type of whole numbers, and `from` is as long as `into`
// needs. A uint64 above INT64_MAX becomes negative.
void WidenToInt64(DType dtype, std::span<const char> from, std::span<std::int64_t> into);

// Calls `see(row, value)` for every element of rows of whole numbers, until it returns false.
Status ForEachWholeNumber(const Rows& rows,
                          const std::function<bool(std::int64_t row, std::int64_t value)>& see);

}  // namespace sluice::data
