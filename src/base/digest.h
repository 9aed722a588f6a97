#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace sluice {

// A fingerprint of a sequence of values. It is the same on every machine. Two states with the same
// digest are taken to be the same state.
class Digest {
 public:
  Digest& Add(std::string_view text);
  Digest& Add(double value);
  template <typename T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  Digest& Add(T value) {
    return AddBits(static_cast<std::uint64_t>(value));
  }

  std::uint64_t Value() const;

 private:
  Digest& AddBits(std::uint64_t bits);
  std::uint64_t state_ = 0x5155494345ULL;
};

std::string ToHex(std::uint64_t digest);
// Reads what ToHex wrote.
std::optional<std::uint64_t> FromHex(std::string_view text);

}  // namespace sluice
