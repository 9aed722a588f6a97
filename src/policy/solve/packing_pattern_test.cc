#include "policy/solve/packing_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/random.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

constexpr std::int64_t kEnough = 1'000'000;

// All patterns, by trying every count of every item.
std::vector<Pattern> AllPatterns(const PatternProblem& problem) {
  std::vector<Pattern> all;
  Pattern pattern{.counts = std::vector<int>(problem.items.size())};
  const std::function<void(std::size_t, Amounts)> visit = [&](std::size_t i, Amounts room) {
    if (i == problem.items.size()) {
      pattern.profit = 0;
      for (std::size_t j = 0; j < i; ++j)
        pattern.profit += pattern.counts[j] * problem.items[j].profit;
      all.push_back(pattern);
      return;
    }
    for (int count = 0; count <= problem.items[i].most; ++count) {
      pattern.counts[i] = count;
      visit(i + 1, room);
      room -= problem.items[i].takes;
      if (room != AtLeastNothing(room)) break;
    }
    pattern.counts[i] = 0;
  };
  visit(0, problem.room);
  return all;
}

PatternProblem RandomPatternProblem(Random& random) {
  PatternProblem problem;
  for (const Resource resource : kResources)
    problem.room.*resource = static_cast<std::int64_t>(random.Below(30));
  const std::size_t items = random.Below(6);
  for (std::size_t i = 0; i < items; ++i) {
    PatternItem item;
    for (const Resource resource : kResources)
      item.takes.*resource = static_cast<std::int64_t>(random.Below(12));
    item.profit = random.Uniform(-0.3, 1);
    item.most = static_cast<int>(random.Below(4));
    problem.items.push_back(item);
  }
  return problem;
}

TEST(PackingPatternTest, TheBestIsThatOfAll) {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    const PatternProblem problem = RandomPatternProblem(random);
    const double best = std::ranges::max(AllPatterns(problem), {}, &Pattern::profit).profit;
    std::int64_t work = kEnough;
    const BestPattern found = FindBestPattern(problem, work);
    ASSERT_NEAR(found.pattern.profit, best, 1e-9) << "problem " << i;
    ASSERT_NEAR(found.bound, best, 1e-9) << "problem " << i;
    std::int64_t little = static_cast<std::int64_t>(random.Below(5));
    const BestPattern early = FindBestPattern(problem, little);
    ASSERT_LE(early.pattern.profit, best + 1e-9) << "problem " << i;
    ASSERT_GE(early.bound, best - 1e-9) << "problem " << i;
  }
}

TEST(PackingPatternTest, TheListHasAllThatReachTheProfitAndNoOther) {
  Random random(2);
  for (int i = 0; i < 500; ++i) {
    const PatternProblem problem = RandomPatternProblem(random);
    const double least = random.Uniform(-1, 2);
    std::vector<std::vector<int>> expected;
    for (const Pattern& pattern : AllPatterns(problem))
      if (pattern.profit >= least) expected.push_back(pattern.counts);
    std::int64_t work = kEnough;
    const PatternList list = ListPatterns(problem, least, 1'000'000, work);
    std::vector<std::vector<int>> found;
    for (const Pattern& pattern : list.patterns) found.push_back(pattern.counts);
    ASSERT_TRUE(list.complete);
    ASSERT_THAT(found, UnorderedElementsAreArray(expected)) << "problem " << i;
  }
}

TEST(PackingPatternTest, AListThatIsCutSaysSo) {
  const PatternProblem problem{.room = {.share = 10},
                               .items = {{.takes = {.share = 1}, .profit = 1, .most = 10}}};
  std::int64_t work = kEnough;
  EXPECT_TRUE(ListPatterns(problem, 0, 12, work).complete);
  EXPECT_FALSE(ListPatterns(problem, 0, 5, work).complete);
  work = 0;
  EXPECT_FALSE(ListPatterns(problem, 0, 12, work).complete);
}

TEST(PackingPatternTest, AnItemThatTakesNothingIsTakenAsOftenAsThereIs) {
  const PatternProblem problem{.room = {.share = -5},
                               .items = {{.takes = {}, .profit = 0.5, .most = 7},
                                         {.takes = {.share = 1}, .profit = 9, .most = 1}}};
  std::int64_t work = kEnough;
  EXPECT_THAT(FindBestPattern(problem, work).pattern.counts, ElementsAre(7, 0));
}

}  // namespace
}  // namespace sluice
