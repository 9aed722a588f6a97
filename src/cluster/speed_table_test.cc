#include "cluster/speed_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(SpeedTableTest, HoldsWhatHyperSchedMeasured) {
  const auto table = WidthTable("resnet50");
  ASSERT_TRUE(table);
  EXPECT_DOUBLE_EQ(table->At(1), 1);
  EXPECT_DOUBLE_EQ(table->At(2), 1.8699);
  EXPECT_DOUBLE_EQ(table->At(4), 3.4215);
  EXPECT_DOUBLE_EQ(table->At(8), 5.5983);
  EXPECT_DOUBLE_EQ(table->At(3), (1.8699 + 3.4215) / 2);
  EXPECT_DOUBLE_EQ(table->At(7), 3.4215 + (5.5983 - 3.4215) * 3 / 4);
  EXPECT_DOUBLE_EQ(WidthTable("resnet18")->At(4), 3.43);
}

// HyperSched's break-even points at 60 s of start-up follow from the table.
TEST(SpeedTableTest, GivesHyperSchedsBreakEvenPoints) {
  const SpeedTable table = *WidthTable("resnet50");
  const auto break_even = [&](double from, double to) {
    return 60 / (1 - 1.1 * table.At(from) / table.At(to));
  };
  EXPECT_NEAR(break_even(1, 2), 146, 1);
  EXPECT_NEAR(break_even(4, 8), 183, 1);
  EXPECT_NEAR(break_even(7, 8), 8659, 10);
}

TEST(SpeedTableTest, AShareIsInProportionAndMoreThanMeasuredIsOfNoUse) {
  const SpeedTable table = *WidthTable("resnet18");
  EXPECT_DOUBLE_EQ(table.At(0.5), 0.5);
  EXPECT_DOUBLE_EQ(table.At(0), 0);
  EXPECT_DOUBLE_EQ(table.At(-1), 0);
  EXPECT_DOUBLE_EQ(table.At(16), 5.40);
  EXPECT_DOUBLE_EQ(table.widest(), 8);
  EXPECT_DOUBLE_EQ(SpeedTable().At(4), 1);
  EXPECT_DOUBLE_EQ(WidthTable("linear")->At(64), 64);
}

TEST(SpeedTableTest, FusionIsHydrosCurve) {
  EXPECT_DOUBLE_EQ(HydroFusion().At(1), 1);
  EXPECT_DOUBLE_EQ(HydroFusion().At(10), 6.5);
  EXPECT_DOUBLE_EQ(HydroFusion().At(100), 15.9);
  EXPECT_DOUBLE_EQ(HydroFusion().At(220), 16.5);
  EXPECT_DOUBLE_EQ(HydroFusion().At(55), 6.5 + (15.9 - 6.5) / 2);
}

TEST(SpeedTableTest, RefusesWhatIsNoCurve) {
  EXPECT_THAT(SpeedTable::Make({}).error().message, HasSubstr("at least one"));
  EXPECT_THAT(SpeedTable::Make({{2, 1}, {2, 2}}).error().message, HasSubstr("rising order"));
  EXPECT_THAT(SpeedTable::Make({{1, 2}, {2, 1}}).error().message, HasSubstr("never falls"));
  EXPECT_THAT(SpeedTable::Make({{0, 1}}).error().message, HasSubstr("above 0"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(SpeedTable::Make({{1, nan}}));
  EXPECT_THAT(WidthTable("resnet5").error().message, HasSubstr("did you mean 'resnet50'?"));
}

}  // namespace
}  // namespace sluice
