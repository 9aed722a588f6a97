#include "base/digest.h"

#include <fmt/format.h>

// The header alone: nothing is linked, and a machine that only trains needs no library of it.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cmath>
#include <limits>

namespace sluice {

Digest& Digest::Add(std::string_view text) {
  state_ = XXH3_64bits_withSeed(text.data(), text.size(), state_ + text.size());
  return *this;
}

Digest& Digest::Add(double value) {
  // Every NaN counts as the same NaN.
  return AddBits(std::bit_cast<std::uint64_t>(
      std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value));
}

Digest& Digest::AddBits(std::uint64_t bits) {
  state_ = XXH3_64bits_withSeed(&bits, sizeof bits, state_);
  return *this;
}

std::uint64_t Digest::Value() const { return state_; }

std::string ToHex(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

}  // namespace sluice
