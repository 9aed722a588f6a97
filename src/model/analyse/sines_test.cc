#include "model/analyse/sines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sluice::model {
namespace {

// A table as networks compute it, in single precision.
std::vector<double> Table(bool in_turns, std::size_t rows, std::size_t width) {
  std::vector<double> table(rows * width);
  for (std::size_t t = 0; t < rows; ++t) {
    for (std::size_t i = 0; i < width / 2; ++i) {
      const float frequency =
          std::exp(static_cast<float>(2 * i) * (-std::log(10000.0F) / static_cast<float>(width)));
      const float angle = static_cast<float>(t) * frequency;
      table[t * width + (in_turns ? 2 * i : i)] = std::sin(angle);
      table[t * width + (in_turns ? 2 * i + 1 : width / 2 + i)] = std::cos(angle);
    }
  }
  return table;
}

TEST(SinesTest, TablesOfPositionsAreKnown) {
  EXPECT_EQ(RecogniseSines(Table(true, 64, 32), 32), Law::Kind::kSinesInTurns);
  EXPECT_EQ(RecogniseSines(Table(false, 64, 32), 32), Law::Kind::kSinesFirst);
  EXPECT_EQ(RecogniseSines(Table(true, 5, 200), 200), Law::Kind::kSinesInTurns);
}

TEST(SinesTest, OtherTablesAreNot) {
  std::vector<double> table = Table(true, 64, 32);
  EXPECT_FALSE(RecogniseSines(table, 16));
  table[40 * 32 + 3] += 0.01;
  EXPECT_FALSE(RecogniseSines(table, 32));
  table[40 * 32 + 3] = std::nan("");
  EXPECT_FALSE(RecogniseSines(table, 32));
  EXPECT_FALSE(RecogniseSines(std::vector<double>(64 * 32), 32));
  EXPECT_FALSE(RecogniseSines({}, 32));
  EXPECT_FALSE(RecogniseSines(Table(true, 2, 32), 32)) << "too few rows to tell";
}

}  // namespace
}  // namespace sluice::model
