#include "train/state/exact_normal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace sluice::train {
namespace {

TEST(ExactNormalTest, IsTheInverseOfTheDistribution) {
  for (double probability = 0x1p-53; probability < 1;
       probability += probability < 1e-3 ? probability * 0.37 : 0.00037) {
    const double found = NormalAt(probability);
    const double back = 0.5 * std::erfc(-found / std::numbers::sqrt2);
    // An error of the number grows by its size in the tails.
    const double bound = 4e-15 * (1 + found * found);
    EXPECT_NEAR(back / probability, 1, bound) << probability;
  }
}

TEST(ExactNormalTest, IsSymmetric) {
  EXPECT_EQ(NormalAt(0.5), 0);
  for (const double probability : {0.25, 0.0625, 0x1p-10, 0x1p-40})
    EXPECT_EQ(NormalAt(1 - probability), -NormalAt(probability)) << probability;
}

}  // namespace
}  // namespace sluice::train
