#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::model {

enum class DType : std::uint8_t {
  kUint8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kComplex32,
  kComplex64,
  kComplex128,
  kBool,
  kBfloat16,
};

// PyTorch's name for the type: "float32".
std::string_view Name(DType dtype);
std::size_t BytesOf(DType dtype);
bool IsFloating(DType dtype);
// The type with this number in archives; empty if the number is unknown.
std::optional<DType> DTypeOfCode(std::int64_t code);

}  // namespace sluice::model
