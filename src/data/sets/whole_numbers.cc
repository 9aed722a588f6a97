#include "data/sets/whole_numbers.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"

namespace sluice::data {
namespace {

constexpr std::uint64_t kScanBytes = std::uint64_t{1} << 18;

template <typename T>
void Widen(std::span<const char> from, std::span<std::int64_t> into) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    T value;
    std::memcpy(&value, from.data() + i * sizeof(T), sizeof(T));
    into[i] = static_cast<std::int64_t>(value);
  }
}

}  // namespace

void WidenToInt64(DType dtype, std::span<const char> from, std::span<std::int64_t> into) {
  SLUICE_CHECK(from.size() == into.size() * BytesOf(dtype), "there are as many elements");
  switch (dtype) {
    case DType::kBool:
    case DType::kUint8: return Widen<std::uint8_t>(from, into);
    case DType::kInt8: return Widen<std::int8_t>(from, into);
    case DType::kUint16: return Widen<std::uint16_t>(from, into);
    case DType::kInt16: return Widen<std::int16_t>(from, into);
    case DType::kUint32: return Widen<std::uint32_t>(from, into);
    case DType::kInt32: return Widen<std::int32_t>(from, into);
    case DType::kUint64: return Widen<std::uint64_t>(from, into);
    case DType::kInt64: return Widen<std::int64_t>(from, into);
    case DType::kFloat16:
    case DType::kBfloat16:
    case DType::kFloat32:
    case DType::kFloat64: break;
  }
  SLUICE_CHECK(false, "only whole numbers are widened");
}

Status ForEachWholeNumber(const Rows& rows,
                          const std::function<bool(std::int64_t, std::int64_t)>& see) {
  const std::uint64_t row_bytes = *BytesOf(rows.type);
  // Where rows lie without gaps, many are read at once. Where they do not, they are labels between
  // images, and what lies between is read too: that is quicker than a call for each.
  const auto at_once = static_cast<std::int64_t>(
      std::max<std::uint64_t>(1, kScanBytes / std::max<std::uint64_t>(1, rows.stride)));
  const auto elements = static_cast<std::size_t>(row_bytes / BytesOf(rows.type.dtype));
  const bool no_gaps = rows.stride == row_bytes;
  std::string bytes;
  std::vector<std::int64_t> numbers;
  for (std::int64_t first = 0; first < rows.count; first += at_once) {
    const auto many = static_cast<std::size_t>(std::min(at_once, rows.count - first));
    bytes.resize((many - 1) * static_cast<std::size_t>(rows.stride) +
                 static_cast<std::size_t>(row_bytes));
    SLUICE_TRY(rows.Read(first, bytes));
    numbers.resize(many * elements);
    if (no_gaps) WidenToInt64(rows.type.dtype, bytes, numbers);
    for (std::size_t i = 0; i < many && !no_gaps; ++i) {
      WidenToInt64(rows.type.dtype,
                   std::span(bytes).subspan(i * static_cast<std::size_t>(rows.stride),
                                            static_cast<std::size_t>(row_bytes)),
                   std::span(numbers).subspan(i * elements, elements));
    }
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (!see(first + static_cast<std::int64_t>(i / elements), numbers[i])) return {};
  }
  return {};
}

}  // namespace sluice::data
