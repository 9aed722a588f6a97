// Runs worlds with faults, in parts that can run in parallel. There are a thousand worlds of all
// kinds, a thousand worlds in which processes train several trials at once, and a thousand worlds
// of several studies. Only `make soak` runs all of them at full length.

#include "rig/fault_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/test_soak.h"

namespace sluice {
namespace {

constexpr std::uint64_t kSeedsOfAPart = 25;
constexpr std::uint64_t kSeedsOfAShare = 2;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kParts = 8;  // fewer: under a sanitizer a seed takes ten times as long
#else
constexpr std::uint64_t kParts = 40;
#endif

class FaultWorldTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  // Runs worlds of the part that the parameter numbers.
  static void RunFirst(std::uint64_t count, FaultWorld::Options options, const char* option) {
    const std::uint64_t first = GetParam() * kSeedsOfAPart;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      options.seed = seed;
      const FaultWorld::Outcome outcome = FaultWorld(options).Run();
      EXPECT_GE(outcome.events, options.events);
      ASSERT_EQ(outcome.problem, "")
          << "after " << outcome.events << " events\n"
          << outcome.state << "again: build/release/bin/sluice-faults --seed " << seed
          << " --seeds 1 --events " << options.events << option;
    }
  }
};

TEST_P(FaultWorldTest, NothingIsLostAndEveryStudyEnds) {
  RunFirst(Soaks() ? kSeedsOfAPart : kSeedsOfAShare, {.events = 5000}, "");
}

TEST_P(FaultWorldTest, NothingIsLostInBundles) {
  RunFirst(kSeedsOfAPart, {.events = Soaks() ? 5000U : 300U, .bundles = true}, " --bundles");
}

TEST_P(FaultWorldTest, NothingIsLostWithSeveralStudies) {
  RunFirst(Soaks() ? kSeedsOfAPart : 1, {.events = Soaks() ? 5000U : 1500U, .several = true},
           " --several");
}

INSTANTIATE_TEST_SUITE_P(Seeds, FaultWorldTest, ::testing::Range<std::uint64_t>(0, kParts));

// Seeds that once found a bug and are not among the first thousand.
TEST(FaultWorldSeedsTest, SeedsThatFoundSomethingFindNothingMore) {
  std::vector<FaultWorld::Options> found;
  for (const std::uint64_t seed : {16975, 18516, 18788, 19390}) found.push_back({.seed = seed});
  for (const std::uint64_t seed :
       {3225, 4838, 6182, 8179, 9236, 10298, 12337, 15233, 19022, 20355, 26105})
    found.push_back({.seed = seed, .events = 1000, .bundles = true});
  for (const FaultWorld::Options& options : found) {
    const FaultWorld::Outcome outcome = FaultWorld(options).Run();
    EXPECT_EQ(outcome.problem, "") << "seed " << options.seed << "\n" << outcome.state;
  }
}

// Runs worlds until each of these was seen, or 40 worlds did not show it.
void ExpectSights(std::span<const std::string_view> expected, FaultWorld::Options options) {
  std::map<std::string, int, std::less<>> sights;
  const auto seen = [&](std::string_view sight) {
    const auto found = sights.find(sight);
    return found != sights.end() && found->second > 0;
  };
  for (; options.seed < 40 && !std::ranges::all_of(expected, seen); ++options.seed) {
    for (const auto& [sight, times] : FaultWorld(options).Run().sights) sights[sight] += times;
  }
  for (const std::string_view sight : expected) EXPECT_TRUE(seen(sight)) << sight;
}

// A kind of fault that never occurs tests nothing.
TEST(FaultWorldSightsTest, EveryKindOfFaultIsSeen) {
  constexpr std::array<std::string_view, 31> kSights = {
      "killed",      "died at a step", "power cut",       "did not start",    "gave up",
      "disk full",   "disk error",     "clock jumped",    "node lost",        "node cut off",
      "interrupted", "drained",        "finished",        "user served",      "user refused",
      "stranger",    "suspended",      "node overlooked", "snapshot damaged", "not created",
      "exhausted",   "moved",          "bundle lost",     "hung in a bundle", "released",
      "turned away", "measured",       "edited",          "program broken",   "user offline",
      "came"};
  ExpectSights(kSights, {.events = 2000});
}

TEST(FaultWorldSightsTest, StudiesComeAndGoBesideOthers) {
  constexpr std::array<std::string_view, 7> kSights = {
      "shared",   "came beside others", "left others", "hidden",
      "pen lent", "user beside",        "drained"};
  ExpectSights(kSights, {.events = 2000, .several = true});
}

TEST(FaultWorldSightsTest, ASeedIsAlwaysTheSameWorld) {
  for (const std::uint64_t seed : {3, 14, 15}) {
    const FaultWorld::Options options{.seed = seed, .events = 2000, .several = seed == 14};
    const FaultWorld::Outcome once = FaultWorld(options).Run();
    const FaultWorld::Outcome again = FaultWorld(options).Run();
    EXPECT_EQ(once.digest, again.digest);
    EXPECT_EQ(once.events, again.events);
    EXPECT_EQ(once.end, again.end);
    EXPECT_NE(once.digest, 0U);
  }
}

}  // namespace
}  // namespace sluice
