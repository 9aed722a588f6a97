#include "search/rungs/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "base/state.h"
#include "base/test_numbers.h"

namespace sluice {
namespace {

double AnyValue(Random& random) {
  switch (random.Below(8)) {
    case 0: return kNan;
    case 1: return kInfinity;
    case 2: return -kInfinity;
    case 3: return random.Chance(0.5) ? 0.0 : -0.0;
    default: return static_cast<double>(random.Below(20));
  }
}

TEST(RankingTest, NanComesAfterEverythingAndTiesGoToTheSmallerId) {
  EXPECT_TRUE(Better({kInfinity, TrialId(9)}, {kNan, TrialId(1)}));
  EXPECT_FALSE(Better({kNan, TrialId(1)}, {kInfinity, TrialId(9)}));
  EXPECT_TRUE(Better({kNan, TrialId(1)}, {kNan, TrialId(2)}));
  EXPECT_TRUE(Better({0.0, TrialId(1)}, {-0.0, TrialId(2)}));
  EXPECT_FALSE(Better({-0.0, TrialId(2)}, {0.0, TrialId(1)}));
  EXPECT_TRUE(Better({-kInfinity, TrialId(2)}, {0.0, TrialId(1)}));
}

Quota AnyQuota(Random& random) {
  if (random.Chance(0.5)) {
    return {.whole = static_cast<std::int64_t>(2 + random.Below(4)), .least = random.Below(2)};
  }
  const auto share = static_cast<std::int64_t>(random.Below(101));
  return {.share = share, .whole = 100, .plus = 100 - share};
}

TEST(RankingTest, QuotasAreWholeNumbers) {
  const Quota third = {.whole = 3, .least = 1};
  EXPECT_EQ(third.Of(0), 0u);
  EXPECT_EQ(third.Of(2), 1u);
  EXPECT_EQ(third.Of(6), 2u);
  const Quota quartile = {.share = 25, .whole = 100, .plus = 75};  // floor((n - 1) / 4) + 1
  EXPECT_EQ(quartile.Of(0), 0u);
  EXPECT_EQ(quartile.Of(1), 1u);
  EXPECT_EQ(quartile.Of(4), 1u);
  EXPECT_EQ(quartile.Of(5), 2u);
}

TEST(RankingTest, TheTopIsThatOfASort) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const Quota quota = AnyQuota(random);
    Ranking ranking(quota);
    std::vector<Mark> sorted;
    for (std::uint32_t id = 1; id <= 60; ++id) {
      const Mark mark = {AnyValue(random), TrialId(id)};
      ranking.Add(mark);
      sorted.push_back(mark);
      std::sort(sorted.begin(), sorted.end(), Better);
      const std::size_t top = quota.Of(sorted.size());
      for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(ranking.InTop(sorted[i]), i < top);
      ASSERT_EQ(top == 0, ranking.WorstOfTop() == nullptr);
      if (top > 0) {
        ASSERT_EQ(ranking.WorstOfTop()->trial, sorted[top - 1].trial);
      }
      ASSERT_EQ(top == sorted.size(), ranking.BestOfRest() == nullptr);
      if (top < sorted.size()) {
        ASSERT_EQ(ranking.BestOfRest()->trial, sorted[top].trial);
      }
      if (!random.Chance(0.1)) continue;
      StateWriter writer;
      ranking.Save(writer);
      Ranking loaded(quota);
      StateReader reader(writer.bytes());
      ASSERT_TRUE(loaded.Load(reader));
      ASSERT_TRUE(reader.Finish());
      Digest before;
      Digest after;
      ranking.AddTo(before);
      loaded.AddTo(after);
      ASSERT_EQ(before.Value(), after.Value());
      ranking = loaded;
    }
  }
}

TEST(RankingTest, MarksOutOfOrderAreCorruption) {
  StateWriter writer;
  writer.Put(2);
  for (const double value : {2.0, 1.0}) {
    writer.Put(TrialId(1));
    writer.Put(value);
  }
  Ranking ranking({.whole = 2});
  StateReader reader(writer.bytes());
  const Status status = ranking.Load(reader);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCorruption);
  EXPECT_EQ(ranking.size(), 0u);
}

}  // namespace
}  // namespace sluice
