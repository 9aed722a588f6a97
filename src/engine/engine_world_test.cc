// The engine in thousands of simulated worlds. It stays safe while things go wrong, finishes once
// they do not, and behaves in the same way on every replay.

#include <gtest/gtest.h>

#include "engine/test_world.h"

namespace sluice {
namespace {

struct Combination {
  std::string sampler;
  std::string stopper;
};

std::vector<Combination> Combinations() {
  std::vector<Combination> all;
  for (const std::string& sampler : SamplerNames()) {
    for (const std::string& stopper : StopperNames()) all.push_back({sampler, stopper});
  }
  return all;
}

class EngineWorldTest : public ::testing::TestWithParam<Combination> {
 protected:
  static World::Options OptionsOf(std::uint64_t seed) {
    return {.seed = seed, .sampler = GetParam().sampler, .stopper = GetParam().stopper};
  }
};

std::string DescribeEnd(const World& world) {
  return fmt::format("{} after {} events", world.problem(), world.history().size());
}

TEST_P(EngineWorldTest, IsSafeAlwaysAndFinishesOnceFaultsStop) {
  Sights sights;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    World world(OptionsOf(seed));
    for (int i = 0; i < 250 && world.problem().empty(); ++i) world.Step(/*faulty=*/true);
    ASSERT_EQ(world.problem(), "") << "seed " << seed << ": " << DescribeEnd(world);
    int left = 20'000;
    while (!world.finished() && !world.stuck() && world.problem().empty() && --left > 0)
      world.Step(/*faulty=*/false);
    ASSERT_EQ(world.problem(), "") << "seed " << seed << ": " << DescribeEnd(world);
    ASSERT_TRUE(world.finished()) << "seed " << seed << (world.stuck() ? " is stuck " : " goes on ")
                                  << DescribeEnd(world);
    for (const auto& [sight, count] : world.sights()) sights[sight] += count;
  }
  // A test in which nothing goes wrong proves nothing.
  for (const char* sight :
       {"died", "commands lost", "never started", "told drain", "stopped by hand", "told study",
        "told lease", "told timeout", "retried", "retrained", "restored", "sent again", "evicted",
        "resumed", "enqueued", "node lost", "node back", "finished", "told paused"}) {
    EXPECT_GT(sights[sight], 0) << sight;
  }
  EXPECT_EQ(sights["exhausted"] > 0, GetParam().sampler == "grid");
  EXPECT_EQ(sights["told stopped"] > 0, GetParam().stopper != "none");
  for (const char* sight : {"copied", "copy failed", "fork restored", "fork from scratch"}) {
    EXPECT_EQ(sights[sight] > 0, GetParam().stopper.starts_with("pbt")) << sight;
  }
}

TEST_P(EngineWorldTest, AReplayIsTheSameAtEveryEvent) {
  for (std::uint64_t seed = 1000; seed < 1050; ++seed) {
    World world(OptionsOf(seed));
    World twin(OptionsOf(seed));
    world.KeepDigests();
    for (int i = 0; i < 150; ++i) world.Step(/*faulty=*/true);
    for (int i = 0; i < 150; ++i) twin.Step(/*faulty=*/true);
    ASSERT_EQ(world.engine().Digest(), twin.engine().Digest());

    auto replayed = NewEngine();
    const std::size_t begin = world.history().size() - world.digests().size();
    for (std::size_t i = 0; i < world.history().size(); ++i) {
      (void)replayed->Apply(world.history()[i]);
      if (i < begin) continue;
      ASSERT_EQ(replayed->Digest(), world.digests()[i - begin])
          << "seed " << seed << ", event " << i;
    }
  }
}

TEST_P(EngineWorldTest, GoingOnFromASnapshotIsLikeNeverHavingStopped) {
  for (std::uint64_t seed = 2000; seed < 2100; ++seed) {
    World world(OptionsOf(seed));
    for (int i = 0; i < 150; ++i) world.Step(/*faulty=*/true);
    const std::size_t cut = 1 + Random(seed).Below(world.history().size());
    auto straight = NewEngine();
    for (std::size_t i = 0; i < cut; ++i) (void)straight->Apply(world.history()[i]);
    auto loaded = NewEngine();
    const Status good = loaded->Load(straight->Save(), {world.created()});
    ASSERT_TRUE(good) << good.error().message;
    ASSERT_EQ(Describe(loaded->Unfinished()), Describe(straight->Unfinished()));
    for (std::size_t i = cut; i < world.history().size(); ++i) {
      ASSERT_EQ(Describe(loaded->Apply(world.history()[i])),
                Describe(straight->Apply(world.history()[i])));
    }
    ASSERT_EQ(loaded->Digest(), straight->Digest());
  }
}

INSTANTIATE_TEST_SUITE_P(All, EngineWorldTest, ::testing::ValuesIn(Combinations()),
                         [](const auto& info) {
                           std::string name = info.param.sampler + "_" + info.param.stopper;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace sluice
