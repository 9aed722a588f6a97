#include "train/state/initial_draws.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/analyse/sines.h"

namespace sluice::train {
namespace {

using model::Law;

const Law kStandard = {.kind = Law::Kind::kNormal, .mean = 0, .deviation = 1};

double MeanOf(const at::Tensor& tensor) { return tensor.mean().item().toDouble(); }
double DeviationOf(const at::Tensor& tensor) { return tensor.std().item().toDouble(); }

TEST(InitialDrawsTest, NumbersFollowTheirLaw) {
  const at::Tensor normal = DrawnByLaw({.kind = Law::Kind::kNormal, .mean = 3, .deviation = 0.5},
                                       {400, 500}, at::kDouble, 7, "layer.weight");
  EXPECT_NEAR(MeanOf(normal), 3, 0.005);
  EXPECT_NEAR(DeviationOf(normal), 0.5, 0.005);
  const at::Tensor off = (normal - 3) / 0.5;
  EXPECT_NEAR(MeanOf(off.pow(4)), 3, 0.1) << "a normal law has this kurtosis";
  const at::Tensor uniform = DrawnByLaw({.kind = Law::Kind::kUniform, .mean = -1, .deviation = 0.5},
                                        {400, 500}, at::kDouble, 7, "layer.weight");
  EXPECT_NEAR(MeanOf(uniform), -1, 0.005);
  EXPECT_NEAR(DeviationOf(uniform), 0.5, 0.005);
  const double reach = 0.5 * std::sqrt(3);
  EXPECT_LE(uniform.max().item().toDouble(), -1 + reach);
  EXPECT_GT(uniform.max().item().toDouble(), -1 + reach * 0.999);
  EXPECT_GE(uniform.min().item().toDouble(), -1 - reach);
  const at::Tensor constant =
      DrawnByLaw({.kind = Law::Kind::kConstant, .mean = 3}, {2}, at::kLong, 7, "count");
  EXPECT_TRUE(at::equal(constant, at::tensor({3, 3}, at::kLong)));
}

// These numbers must not change: a study that is resumed draws its next trials as its first ones.
TEST(InitialDrawsTest, NumbersAreTheSameOnEveryMachine) {
  const at::Tensor drawn = DrawnByLaw(kStandard, {6}, at::kDouble, 12345, "fc.weight");
  const double expected[] = {-0x1.270c2fbd30a16p-2, -0x1.2727ee1224b63p-1, 0x1.2202be0ea1c29p+0,
                             0x1.c97779a519334p-3,  0x1.4e331ed829711p+0,  0x1.0fd45e73bce5p+1};
  for (std::int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(drawn[i].item().toDouble(), expected[i])
        << std::hexfloat << drawn[i].item().toDouble();
}

TEST(InitialDrawsTest, AnElementDependsOnSeedNameAndPlaceAlone) {
  const at::Tensor few = DrawnByLaw(kStandard, {5}, at::kDouble, 1, "a");
  const at::Tensor many = DrawnByLaw(kStandard, {7, 9001}, at::kDouble, 1, "a").flatten();
  EXPECT_TRUE(at::equal(few, many.narrow(0, 0, 5)));
  EXPECT_FALSE(at::equal(few, DrawnByLaw(kStandard, {5}, at::kDouble, 2, "a")));
  EXPECT_FALSE(at::equal(few, DrawnByLaw(kStandard, {5}, at::kDouble, 1, "b")));
  const int threads = at::get_num_threads();
  at::set_num_threads(threads == 1 ? 2 : 1);
  EXPECT_TRUE(at::equal(many, DrawnByLaw(kStandard, {7, 9001}, at::kDouble, 1, "a").flatten()));
  at::set_num_threads(threads);
}

TEST(InitialDrawsTest, OtherTypesHaveTheSameNumbersRounded) {
  const at::Tensor wide = DrawnByLaw(kStandard, {100}, at::kDouble, 1, "a");
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf})
    EXPECT_TRUE(at::equal(DrawnByLaw(kStandard, {100}, type, 1, "a"), wide.to(type))) << type;
}

TEST(InitialDrawsTest, TablesOfSinesAreComputed) {
  for (const Law::Kind kind : {Law::Kind::kSinesInTurns, Law::Kind::kSinesFirst}) {
    const at::Tensor table = DrawnByLaw({.kind = kind}, {1, 5, 6}, at::kDouble, 1, "positions");
    for (std::int64_t row = 0; row < 5; ++row)
      for (std::int64_t column = 0; column < 6; ++column)
        EXPECT_EQ(table[0][row][column].item().toDouble(),
                  model::SineAt(kind, static_cast<std::size_t>(row),
                                static_cast<std::size_t>(column), 6));
  }
}

TEST(InitialDrawsTest, NothingIsDrawnForNoElements) {
  EXPECT_EQ(DrawnByLaw(kStandard, {0, 3}, at::kFloat, 1, "a").numel(), 0);
}

}  // namespace
}  // namespace sluice::train
