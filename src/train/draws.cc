#include "train/draws.h"

#include <algorithm>

namespace sluice::train {

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
PhiloxWords Philox(PhiloxWords counter, std::uint32_t key0, std::uint32_t key1) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  auto& c = counter.word;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * c[0];
    const std::uint64_t product1 = kMultiplier1 * c[2];
    c[0] = static_cast<std::uint32_t>(product1 >> 32) ^ c[1] ^ key0;
    c[2] = static_cast<std::uint32_t>(product0 >> 32) ^ c[3] ^ key1;
    c[1] = static_cast<std::uint32_t>(product1);
    c[3] = static_cast<std::uint32_t>(product0);
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

void CounterDraws::Fill(std::size_t trial, std::uint32_t node,
                        std::span<std::uint32_t> bits) const {
  const Trial& of = trials_[trial];
  const auto key0 = static_cast<std::uint32_t>(of.seed);
  const auto key1 = static_cast<std::uint32_t>(of.seed >> 32);
  // 32 bits of the block, 24 of the node, and 40 + 32 of the step would fit; 2^34 elements and 2^32
  // steps are more than any network and training have.
  const auto step = static_cast<std::uint32_t>(of.step);
  const auto step_high = static_cast<std::uint32_t>(of.step >> 32);
  std::uint32_t block = 0;
  for (std::size_t at = 0; at < bits.size(); at += 4, ++block) {
    const PhiloxWords words = Philox({{block, node, step, step_high}}, key0, key1);
    const std::size_t count = std::min<std::size_t>(4, bits.size() - at);
    std::copy_n(words.word, count, bits.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace sluice::train
