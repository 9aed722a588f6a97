#include "train/update/loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace sluice::train {
namespace {

template <typename Real>
std::vector<Real> LoopNumbers(std::uint64_t seed, std::size_t count, double low) {
  std::mt19937_64 bits(seed);
  std::vector<Real> numbers(count);
  for (Real& each : numbers)
    each = static_cast<Real>(low + static_cast<double>(bits() >> 11) * 0x1p-52);
  return numbers;
}

// Vectors and what is left over must compute what one element alone does.
template <typename Real, typename Loop>
void ExpectElementWise(const Loop& loop) {
  for (const std::size_t count : {1, 3, 8, 37, 1000}) {
    auto weight = LoopNumbers<Real>(1, count, -1), gradient = LoopNumbers<Real>(2, count, -1);
    auto moment1 = LoopNumbers<Real>(3, count, -1), moment2 = LoopNumbers<Real>(4, count, 0);
    auto weight_alone = weight, moment1_alone = moment1, moment2_alone = moment2;
    loop(static_cast<std::int64_t>(count), weight.data(), gradient.data(), moment1.data(),
         moment2.data());
    for (std::size_t i = 0; i < count; ++i)
      loop(1, &weight_alone[i], &gradient[i], &moment1_alone[i], &moment2_alone[i]);
    EXPECT_EQ(weight, weight_alone);
    EXPECT_EQ(moment1, moment1_alone);
    EXPECT_EQ(moment2, moment2_alone);
  }
}

template <typename Real>
class LoopsTest : public testing::Test {};
using LoopTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(LoopsTest, LoopTypes);

TYPED_TEST(LoopsTest, ElementsDoNotDependOnTheirPlaces) {
  using Real = TypeParam;
  for (const bool first : {false, true}) {
    for (const bool nesterov : {false, true}) {
      for (const double momentum : {0.0, 0.9}) {
        const SgdStep step{.clip = 0.7,
                           .decay = 0.01,
                           .momentum = momentum,
                           .kept = 0.8,
                           .rate = 0.3,
                           .nesterov = nesterov,
                           .first = first};
        ExpectElementWise<Real>([&](std::int64_t count, Real* weight, const Real* gradient,
                                    Real* moment,
                                    Real*) { SgdLoop(step, count, weight, gradient, moment); });
      }
    }
    for (const double kept1 : {0.1, 0.9}) {
      const AdamStep step{.clip = 0.7,
                          .decay = 0.01,
                          .shrink = 0.99,
                          .kept1 = kept1,
                          .beta2 = 0.99,
                          .kept2 = 0.01,
                          .rate = 0.3,
                          .root = 0.2,
                          .eps = 1e-3,
                          .first = first};
      ExpectElementWise<Real>(
          [&](std::int64_t count, Real* weight, const Real* gradient, Real* moment1,
              Real* moment2) { AdamLoop(step, count, weight, gradient, moment1, moment2); });
    }
  }
}

TYPED_TEST(LoopsTest, SquaresAreSummedInFloat64) {
  for (const std::size_t count : {0, 1, 7, 8, 9, 1001}) {
    const auto numbers = LoopNumbers<TypeParam>(5, count, -1);
    long double sum = 0;
    for (const TypeParam each : numbers) sum += static_cast<long double>(each) * each;
    EXPECT_NEAR(SumOfSquares(static_cast<std::int64_t>(count), numbers.data()),
                static_cast<double>(sum), 1e-14 * static_cast<double>(count));
  }
  const std::vector<TypeParam> large(100, static_cast<TypeParam>(1e30));
  EXPECT_DOUBLE_EQ(SumOfSquares(100, large.data()),
                   100 * static_cast<double>(large[0]) * static_cast<double>(large[0]));
}

}  // namespace
}  // namespace sluice::train
