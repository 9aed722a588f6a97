#include "train/draws.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::train {
namespace {

// The known answers that come with the authors' implementation (Random123, kat_vectors).
TEST(DrawsTest, PhiloxGivesTheKnownAnswers) {
  const PhiloxWords zeros = Philox({{0, 0, 0, 0}}, 0, 0);
  EXPECT_EQ(zeros.word[0], 0x6627e8d5u);
  EXPECT_EQ(zeros.word[1], 0xe169c58du);
  EXPECT_EQ(zeros.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros.word[3], 0x9b00dbd8u);
  const std::uint32_t ones = 0xffffffffu;
  const PhiloxWords all = Philox({{ones, ones, ones, ones}}, ones, ones);
  EXPECT_EQ(all.word[0], 0x408f276du);
  EXPECT_EQ(all.word[1], 0x41c83b0eu);
  EXPECT_EQ(all.word[2], 0xa20bc7c6u);
  EXPECT_EQ(all.word[3], 0x6d5451fdu);
}

TEST(DrawsTest, NumbersDependOnSeedStepNodeAndElementAlone) {
  const CounterDraws one({{.seed = 7, .step = 3}});
  const CounterDraws several(
      {{.seed = 5, .step = 3}, {.seed = 7, .step = 3}, {.seed = 7, .step = 4}});
  std::vector<std::uint32_t> alone(10), among(7), later(10), elsewhere(10);
  one.Fill(0, 12, alone);
  several.Fill(1, 12, among);
  EXPECT_TRUE(std::equal(among.begin(), among.end(), alone.begin()));
  several.Fill(2, 12, later);
  one.Fill(0, 13, elsewhere);
  EXPECT_NE(alone, later);
  EXPECT_NE(alone, elsewhere);
}

}  // namespace
}  // namespace sluice::train
