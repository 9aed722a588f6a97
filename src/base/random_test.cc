#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace sluice {
namespace {

// The numbers of xoshiro256**, seeded by splitmix64, as other code computes them. If these numbers
// change, the draws of every study with a seed change too.
TEST(RandomTest, KnownVectorsStayFixed) {
  Random zero(0);
  EXPECT_EQ(zero.Next(), 0x99ec5f36cb75f2b4u);
  EXPECT_EQ(zero.Next(), 0xbf6e1f784956452au);
  EXPECT_EQ(zero.Next(), 0x1a5f849d4933e6e0u);
  Random answer(42);
  EXPECT_EQ(answer.Next(), 0x15780b2e0c2ec716u);
  EXPECT_EQ(answer.Next(), 0x6104d9866d113a7eu);
  EXPECT_EQ(answer.Next(), 0xae17533239e499a1u);
}

TEST(RandomTest, ForksAndDoublesStayFixed) {
  EXPECT_EQ(Random(7).Fork("random").Next(), 0xeb63602a92abdd4eu);
  EXPECT_EQ(Random(7).Fork("random").Fork(17).Next(), 0xbe9d14e08d223a75u);
  EXPECT_EQ(Random(7).Uniform(), 0.7005764821796896);
  EXPECT_NEAR(Random(7).Normal(), -0.27902399102519809, 1e-15);
}

TEST(RandomTest, DrawingDoesNotShiftForks) {
  Random drawn(5);
  for (int i = 0; i < 10; ++i) drawn.Next();
  EXPECT_EQ(drawn.Fork("a").Next(), Random(5).Fork("a").Next());
  EXPECT_EQ(drawn.Fork(3).Next(), Random(5).Fork(3).Next());
}

TEST(RandomTest, ForksDiffer) {
  std::set<std::uint64_t> first_draws = {Random(1).Next()};
  for (std::uint64_t i = 0; i < 1000; ++i) first_draws.insert(Random(1).Fork(i).Next());
  first_draws.insert(Random(1).Fork("").Next());
  first_draws.insert(Random(1).Fork("a").Next());
  first_draws.insert(Random(1).Fork("b").Next());
  EXPECT_EQ(first_draws.size(), 1004u);
}

TEST(RandomTest, BelowStaysBelowAndIsUniform) {
  Random random(3);
  for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 63,
                                    (std::uint64_t{1} << 63) + 1, ~std::uint64_t{0}}) {
    for (int i = 0; i < 1000; ++i) ASSERT_LT(random.Below(bound), bound);
  }
  constexpr int kDraws = 100'000;
  std::array<int, 10> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[random.Below(counts.size())];
  // Five standard deviations of a binomial.
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 10.0, 5 * std::sqrt(kDraws * 0.09));
}

// With a plain remainder, half of the draws would fall in the lower third.
TEST(RandomTest, BelowIsUnbiasedForLargeBounds) {
  const std::uint64_t bound = 3 * (std::uint64_t{1} << 62);
  Random random(4);
  constexpr int kDraws = 30'000;
  int low_third = 0;
  for (int i = 0; i < kDraws; ++i) low_third += random.Below(bound) < bound / 3 ? 1 : 0;
  EXPECT_NEAR(low_third, kDraws / 3.0, 5 * std::sqrt(kDraws * 2.0 / 9));
}

TEST(RandomTest, UniformAndNormalHaveTheirMoments) {
  Random random(9);
  constexpr int kDraws = 100'000;
  double uniform_sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double uniform = random.Uniform();
    ASSERT_GE(uniform, 0);
    ASSERT_LT(uniform, 1);
    uniform_sum += uniform;
    const double normal = random.Normal();
    ASSERT_TRUE(std::isfinite(normal));
    normal_sum += normal;
    normal_squares += normal * normal;
  }
  EXPECT_NEAR(uniform_sum / kDraws, 0.5, 0.005);
  EXPECT_NEAR(normal_sum / kDraws, 0, 0.02);
  EXPECT_NEAR(normal_squares / kDraws, 1, 0.03);
}

TEST(RandomDeathTest, BelowNothingIsABug) { EXPECT_DEATH(Random(1).Below(0), "broken invariant"); }

}  // namespace
}  // namespace sluice
