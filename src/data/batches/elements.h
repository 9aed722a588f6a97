#pragma once

#include <cstring>
#include <span>

#include "base/check.h"
#include "data/tensors/half.h"
#include "data/tensors/tensor_type.h"

namespace sluice::data {

// Calls `see(place, value)` for each element of an input, with its value as a double. Elements are
// uint8 or floating-point numbers.
template <typename See>
void ForEachElement(DType dtype, std::span<const char> bytes, See see) {
  const auto each = [&]<typename T>(T, auto value_of) {
    const std::size_t count = bytes.size() / sizeof(T);
    for (std::size_t i = 0; i < count; ++i) {
      T raw;
      std::memcpy(&raw, bytes.data() + i * sizeof(T), sizeof(T));
      see(i, static_cast<double>(value_of(raw)));
    }
  };
  const auto same = [](auto value) { return value; };
  switch (dtype) {
    case DType::kUint8: return each(std::uint8_t{}, same);
    case DType::kFloat16: return each(std::uint16_t{}, FromFloat16);
    case DType::kBfloat16: return each(std::uint16_t{}, FromBfloat16);
    case DType::kFloat32: return each(float{}, same);
    case DType::kFloat64: return each(double{}, same);
    default: SLUICE_CHECK(false, "inputs of this type are not normalised");
  }
}

// What an element is multiplied by before it is normalised, as a divisor: images are in [0, 1].
inline double DivisorOf(DType dtype) { return dtype == DType::kUint8 ? 255 : 1; }

}  // namespace sluice::data
