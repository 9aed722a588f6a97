#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice {

// A seeded stream of random numbers. It is the same on every machine and with every compiler.
// Streams are forked by label or number, as in Random(seed).Fork("random").Fork(17). So the draws
// of one part of the program do not change the draws of another part.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  Random Fork(std::string_view label) const;
  Random Fork(std::uint64_t number) const;

  std::uint64_t Next();                      // 64 uniform bits
  double Uniform();                          // in [0, 1), 53 bits
  double Uniform(double low, double high);   // in [low, high)
  std::uint64_t Below(std::uint64_t bound);  // in [0, bound), unbiased; bound > 0
  double Normal();                           // mean 0, standard deviation 1
  bool Chance(double probability) { return Uniform() < probability; }

 private:
  std::uint64_t key_;  // forks are made from it; drawing does not change it
  std::array<std::uint64_t, 4> state_;
};

}  // namespace sluice
