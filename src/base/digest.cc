#include "base/digest.h"

#include <fmt/format.h>

// Only xxHash's header is used, so that machines that only train need not link its library.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <charconv>
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

std::optional<std::uint64_t> FromHex(std::string_view text) {
  std::uint64_t digest = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), digest, 16);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole ? std::optional(digest) : std::nullopt;
}

}  // namespace sluice
