#include "base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/digest.h"

namespace sluice {
namespace {

std::uint64_t SplitMix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) : key_(seed) {
  std::uint64_t state = seed;
  for (std::uint64_t& word : state_) word = SplitMix(state);
}

Random Random::Fork(std::string_view label) const {
  return Random(Digest().Add(key_).Add(label).Value());
}
Random Random::Fork(std::uint64_t number) const {
  return Random(Digest().Add(key_).Add(number).Value());
}

// The generator xoshiro256**.
std::uint64_t Random::Next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

double Random::Uniform(double low, double high) { return low + (high - low) * Uniform(); }

std::uint64_t Random::Below(std::uint64_t bound) {
  SLUICE_CHECK(bound > 0, "there is something to choose from");
  const std::uint64_t reject_below = -bound % bound;
  while (true) {
    const std::uint64_t bits = Next();
    if (bits >= reject_below) return bits % bound;
  }
}

double Random::Normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * Uniform());
}

}  // namespace sluice
