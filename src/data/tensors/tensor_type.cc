#include "data/tensors/tensor_type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice::data {
namespace {

constexpr std::uint64_t kMostOfATensor = std::uint64_t{1} << 62;

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::string_view safetensors;
  std::size_t bytes;
};

// In the order of the enumeration.
constexpr DTypeRow kDTypes[] = {
    {DType::kBool, "bool", "BOOL", 1},         {DType::kUint8, "uint8", "U8", 1},
    {DType::kInt8, "int8", "I8", 1},           {DType::kUint16, "uint16", "U16", 2},
    {DType::kInt16, "int16", "I16", 2},        {DType::kUint32, "uint32", "U32", 4},
    {DType::kInt32, "int32", "I32", 4},        {DType::kUint64, "uint64", "U64", 8},
    {DType::kInt64, "int64", "I64", 8},        {DType::kFloat16, "float16", "F16", 2},
    {DType::kBfloat16, "bfloat16", "BF16", 2}, {DType::kFloat32, "float32", "F32", 4},
    {DType::kFloat64, "float64", "F64", 8},
};

constexpr const DTypeRow& RowOf(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view Name(DType dtype) { return RowOf(dtype).name; }
std::size_t BytesOf(DType dtype) { return RowOf(dtype).bytes; }
bool IsFloating(DType dtype) { return dtype >= DType::kFloat16; }
std::string_view SafetensorsName(DType dtype) { return RowOf(dtype).safetensors; }

std::optional<DType> FromSafetensorsName(std::string_view name) {
  for (const DTypeRow& row : kDTypes)
    if (row.safetensors == name) return row.dtype;
  return std::nullopt;
}

std::optional<std::uint64_t> ElementsOf(std::span<const std::int64_t> shape) {
  std::uint64_t elements = 1;
  bool is_empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      is_empty = true;
    } else if (elements > kMostOfATensor / static_cast<std::uint64_t>(size)) {
      return std::nullopt;
    } else {
      elements *= static_cast<std::uint64_t>(size);
    }
  }
  return is_empty ? 0 : elements;
}

std::optional<std::uint64_t> BytesOf(const TensorType& type) {
  const std::optional<std::uint64_t> elements = ElementsOf(type.shape);
  if (!elements || *elements > kMostOfATensor / BytesOf(type.dtype)) return std::nullopt;
  return *elements * BytesOf(type.dtype);
}

std::string Text(const TensorType& type) {
  return fmt::format("{} [{}]", Name(type.dtype), fmt::join(type.shape, ", "));
}

}  // namespace sluice::data
