// Thousands of worlds in which things go wrong.

#include "sim/fault_world.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sluice {
namespace {

TEST(FaultWorldTest, NothingIsLostAndEveryStudyEnds) {
  const char* first = std::getenv("SLUICE_SEED");
  const char* count = std::getenv("SLUICE_SEEDS");
  const std::uint64_t begin = first != nullptr ? std::strtoull(first, nullptr, 10) : 0;
  const std::uint64_t seeds = count != nullptr ? std::strtoull(count, nullptr, 10) : 20;
  std::map<std::string, int> sights;
  for (std::uint64_t seed = begin; seed < begin + seeds; ++seed) {
    const FaultWorld::Outcome outcome = FaultWorld({.seed = seed}).Run();
    ASSERT_EQ(outcome.problem, "") << "seed " << seed << " after " << outcome.events << " events\n"
                                   << outcome.state;
    for (const auto& [sight, times] : outcome.sights) sights[sight] += times;
  }
  for (const auto& [sight, times] : sights) printf("%s: %d\n", sight.c_str(), times);
}

}  // namespace
}  // namespace sluice
