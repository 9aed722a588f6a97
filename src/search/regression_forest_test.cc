#include "search/regression_forest.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

BinnedColumn Column(std::size_t rows, std::size_t bins, Random random) {
  BinnedColumn column;
  column.weights.assign(bins, 1.0 / static_cast<double>(bins));
  for (std::size_t row = 0; row < rows; ++row)
    column.bins.push_back(static_cast<std::uint8_t>(random.Below(bins)));
  return column;
}

struct Table {
  explicit Table(std::size_t bins, std::size_t rows = 600)
      : columns{Column(rows, bins, Random(1)), Column(rows, bins, Random(2)),
                Column(rows, bins, Random(3))},
        values(rows) {}
  double at(std::size_t column, std::size_t row) const { return columns[column].bins[row]; }
  ForestSummary Fit() const { return FitForest(columns, values, {}, Random(7)); }

  std::vector<BinnedColumn> columns;
  std::vector<double> values;
};

TEST(RegressionForestTest, MainEffectsOfASumAreItsVariances) {
  Table table(4);
  for (std::size_t row = 0; row < 600; ++row)
    table.values[row] = 0.5 * table.at(0, row) + 0.25 * table.at(2, row);
  const ForestSummary forest = table.Fit();
  EXPECT_NEAR(forest.main_effects[0], 0.8, 0.05);
  EXPECT_NEAR(forest.main_effects[1], 0, 0.001);
  EXPECT_NEAR(forest.main_effects[2], 0.2, 0.05);
  EXPECT_GT(forest.explained, 0.99);
  EXPECT_NEAR(forest.curves[0][3] - forest.curves[0][0], 1.5, 0.05);
}

TEST(RegressionForestTest, InteractionIsNoMainEffect) {
  Table table(2);
  for (std::size_t row = 0; row < 600; ++row)
    table.values[row] = table.at(0, row) == table.at(1, row) ? 1 : 0;
  const ForestSummary forest = table.Fit();
  for (const double effect : forest.main_effects) EXPECT_LT(effect, 0.05);
  EXPECT_GT(forest.explained, 0.95);  // the trees do find the interaction
}

TEST(RegressionForestTest, ChoicesAreSplitIntoAnySubsets) {
  Table table(32);
  table.columns[0].ordered = false;
  for (std::size_t row = 0; row < 600; ++row)
    table.values[row] = table.columns[0].bins[row] % 2;  // no two neighbours alike
  const ForestSummary forest = table.Fit();
  EXPECT_GT(forest.main_effects[0], 0.97);
  EXPECT_GT(forest.explained, 0.97);
}

TEST(RegressionForestTest, WeightsAreThoseOfTheSpaceNotOfTheRows) {
  Table table(2);
  table.columns[0].weights = {0.1, 0.9};
  for (std::size_t row = 0; row < 600; ++row)
    table.values[row] = table.at(0, row) + table.at(1, row);
  const ForestSummary forest = table.Fit();
  EXPECT_NEAR(forest.main_effects[0] / forest.main_effects[1], 0.09 / 0.25, 0.01);
}

TEST(RegressionForestTest, OfTwoThatSayTheSameTheFirstIsBelieved) {
  Table table(4);
  table.columns[2] = table.columns[1];
  for (std::size_t row = 0; row < 600; ++row) table.values[row] = table.at(1, row);
  EXPECT_EQ(table.Fit().main_effects[2], 0);
}

TEST(RegressionForestTest, NoiseIsNotForetold) {
  Table table(8);
  Random random(11);
  for (double& value : table.values) value = random.Normal();
  EXPECT_LT(table.Fit().explained, 0.02);
}

TEST(RegressionForestTest, NothingToFit) {
  Table same(4);
  EXPECT_EQ(same.Fit().main_effects, std::vector<double>(3));
  EXPECT_EQ(same.Fit().explained, 0);
  const Table none(4, 0);
  EXPECT_EQ(none.Fit().main_effects, std::vector<double>(3));
}

}  // namespace
}  // namespace sluice
