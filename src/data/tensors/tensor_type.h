#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::data {

// The type of a tensor's elements.
enum class DType : std::uint8_t {
  kBool,
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
};

// As PyTorch calls it: "float32".
std::string_view Name(DType dtype);
std::size_t BytesOf(DType dtype);
bool IsFloating(DType dtype);
// As safetensors files call it: "F32".
std::string_view SafetensorsName(DType dtype);
std::optional<DType> FromSafetensorsName(std::string_view name);

// What a tensor is, without its elements. They lie in C order: the last axis is contiguous.
struct TensorType {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape = {};  // empty: a single number

  bool operator==(const TensorType&) const = default;
};

// How many elements a shape has. Nothing if a size is negative, or if the product exceeds 2^62.
std::optional<std::uint64_t> ElementsOf(std::span<const std::int64_t> shape);
// Nothing as above, also if the bytes exceed 2^62.
std::optional<std::uint64_t> BytesOf(const TensorType& type);

// "float32 [3, 32, 32]"
std::string Text(const TensorType& type);

}  // namespace sluice::data
