// A snapshot is loaded exactly as it was written, or not at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_world.h"

namespace sluice {
namespace {

using ::testing::Contains;

std::string LoadProblem(std::string_view state, const StudyCreated& created) {
  const Status loaded = NewEngine()->Load(state, {created});
  if (loaded) return "";
  EXPECT_EQ(loaded.error().code, ErrorCode::kCorruption);
  return loaded.error().message;
}

std::string StateOf(const World& world) { return world.engine().Save(); }

TEST(EngineSnapshotTest, EveryShorterOneIsRefused) {
  for (const std::string& stopper : StopperNames()) {
    World world({.seed = 3, .sampler = "random", .stopper = stopper});
    for (int i = 0; i < 60; ++i) world.Step(/*faulty=*/true);
    const std::string state = StateOf(world);
    ASSERT_EQ(LoadProblem(state, world.created()), "");
    for (std::size_t size = 0; size < state.size(); ++size)
      EXPECT_NE(LoadProblem(state.substr(0, size), world.created()), "") << size;
    EXPECT_NE(LoadProblem(state + "x", world.created()), "");
  }
}

// However a byte is changed, loading does not crash, and a snapshot that does load is consistent.
TEST(EngineSnapshotTest, EveryChangedByteIsRefusedOrHarmless) {
  for (std::uint64_t seed = 0; seed < 2 * StopperNames().size(); ++seed) {
    World world({.seed = seed, .sampler = "random", .stopper = StopperNames()[seed / 2]});
    for (int i = 0; i < 60; ++i) world.Step(/*faulty=*/true);
    const std::string state = StateOf(world);
    for (std::size_t at = 0; at < state.size(); ++at) {
      for (const unsigned flip : {0x01U, 0x7fU, 0x80U, 0xffU}) {
        std::string changed = state;
        changed[at] = static_cast<char>(static_cast<unsigned>(changed[at]) ^ flip);
        auto engine = NewEngine();
        if (!engine->Load(changed, {world.created()})) continue;
        (void)engine->Unfinished();
        const std::string again = engine->Save();
        EXPECT_EQ(LoadProblem(again, world.created()), "");
      }
    }
  }
}

TEST(EngineSnapshotTest, ACountAloneTakesNoMemory) {
  TestEngine t("trials: 3\n");
  t.Propose(1);
  // A long run of equal bytes is read as huge counts, and as the elements that they count.
  for (const char filler : {'\x01', '\x7f', '\x00', '\x02'}) {
    for (const std::size_t keep : {1U, 5U, 12U, 20U, 40U}) {
      const std::string state = t.engine().Save().substr(0, keep) + std::string(1 << 20, filler);
      EXPECT_NE(LoadProblem(state, t.created()), "");
    }
  }
}

TEST(EngineSnapshotTest, IsOfTheStudiesItWasTakenOf) {
  TestEngine t("trials: 3\n");
  StudyCreated other = t.created();
  other.study = StudyId(2);
  EXPECT_EQ(LoadProblem(t.engine().Save(), other), "the snapshot is of other studies");
  EXPECT_EQ(NewEngine()->Load(t.engine().Save(), {}).error().message,
            "the snapshot is of other studies");
  EXPECT_EQ(LoadProblem("\x7f", t.created()), "the snapshot is of another version");
}

TEST(EngineSnapshotTest, TellsWhatIsLeftToDo) {
  TestEngine t("trials: 9\n");
  t.Propose(0, 0.5);
  t.Expire(1);
  auto loaded = NewEngine();
  ASSERT_TRUE(loaded->Load(t.engine().Save(), {t.created()}));
  const auto left = Describe(loaded->Unfinished());
  EXPECT_THAT(left, Contains("propose 1"));
  EXPECT_THAT(left, Contains("start 1.1 0..end"));
  EXPECT_THAT(left, Contains("stop 1.1 lease"));
}

}  // namespace
}  // namespace sluice
