#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace sluice::data {

// The value of an IEEE 754 half-precision number.
inline float FromFloat16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const auto fraction = static_cast<float>(bits & 0x3ff);
  float value = 0;
  if (exponent == 0x1f) {
    value = fraction == 0 ? HUGE_VALF : std::nanf("");
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// The value of a bfloat16 number: the upper half of a float32.
inline float FromBfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace sluice::data
