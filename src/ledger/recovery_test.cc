// A restart recovers the same engine from events, from a snapshot, and despite a damaged snapshot.

#include "ledger/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/test_world.h"
#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

std::uint64_t Recovered(Ledger& ledger, Recover how) {
  const auto engine = RecoverEngine(ledger.database(), kStudy, how);
  SLUICE_CHECK(engine.has_value(), engine ? "" : engine.error().message.c_str());
  return (*engine)->Digest();
}

// Worlds with every stopper are written with some snapshots, and recovered after every commit.
TEST(RecoveryTest, EventsSnapshotAndLiveEngineAgree) {
  const std::vector<std::string>& stoppers = StopperNames();
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    World world({.seed = seed, .sampler = "random", .stopper = stoppers[seed % stoppers.size()]});
    for (int i = 0; i < 120; ++i) world.Step(/*faulty=*/true);

    const TestFolder folder;
    auto ledger = OpenLedger(folder / "s.db");
    DoNotSync(*ledger);
    auto live = NewEngine();
    Recorder recorder(*ledger, kStudy, 1000);
    Random random(seed);
    for (const Event& event : world.history()) {
      ASSERT_TRUE(recorder.Record(*live, event));
      if (!random.Chance(0.1)) continue;
      ASSERT_TRUE(recorder.Flush(*live, /*snapshot=*/random.Chance(0.3)));
      ASSERT_EQ(Recovered(*ledger, Recover::kFromEvents), live->Digest()) << "seed " << seed;
      ASSERT_EQ(Recovered(*ledger, Recover::kFromSnapshot), live->Digest()) << "seed " << seed;
    }
    ASSERT_TRUE(recorder.Flush(*live));
    ledger = OpenLedger(folder / "s.db");  // as another process would
    EXPECT_EQ(Recovered(*ledger, Recover::kFromSnapshot), world.engine().Digest());
    EXPECT_EQ(Recovered(*ledger, Recover::kFromEvents), world.engine().Digest());
  }
}

TEST(RecoveryTest, TextsOfAnyKindComeBackTheSame) {
  TestEngine test("trials: 3\nretries: 3\nbackoff: 0s\n");
  test.Propose(2);
  test.Report(1, 1,
              Metrics{{"loss", std::numeric_limits<double>::quiet_NaN()},
                      {"x", std::numeric_limits<double>::infinity()}});
  test.Happen(TrialNoted{test.Key(1), LaunchId(1), test.Next(1), std::string("\xff\0x", 3)});
  test.Happen(AttributesSet{test.Key(1), LaunchId(1), test.Next(1), R"({"a":1.50,"b":"x"})"});
  test.End(2, Ending::kFailed, "caf\xe9 " + std::string(600, '\xc3'));
  const TestFolder folder;
  auto ledger = OpenLedger(folder / "s.db");
  WriteHistory(test, *ledger);
  EXPECT_EQ(Recovered(*ledger, Recover::kFromEvents), test.engine().Digest());
}

TEST(RecoveryTest, ADamagedSnapshotIsPassedOver) {
  TestEngine test("trials: 3\n");
  test.Propose(2);
  test.Report(1, 1, 0.5);
  const TestFolder folder;
  auto ledger = OpenLedger(folder / "s.db");
  WriteHistory(test, *ledger, /*snapshot=*/true);
  std::int64_t replayed = -1;
  ASSERT_TRUE(RecoverEngine(ledger->database(), kStudy, Recover::kFromSnapshot, &replayed));
  EXPECT_EQ(replayed, 0);
  for (const char* damage :
       {"UPDATE snapshots SET state = substr(state, 1, 20)", "UPDATE snapshots SET digest = 'x'",
        "UPDATE snapshots SET state = x''",
        // The digest is that of an empty text, but an empty text is no snapshot.
        "UPDATE snapshots SET state = x'', digest = '0'"}) {
    ASSERT_TRUE(ledger->database().Execute(damage));
    EXPECT_EQ(Recovered(*ledger, Recover::kFromSnapshot), test.engine().Digest()) << damage;
    ASSERT_TRUE(RecoverEngine(ledger->database(), kStudy, Recover::kFromSnapshot, &replayed));
    EXPECT_EQ(replayed, Number(ledger->last())) << damage;
  }
}

TEST(RecoveryTest, ASnapshotOfNonsenseWithAGoodDigestIsPassedOver) {
  TestEngine test("trials: 3\n");
  test.Propose(2);
  const TestFolder folder;
  auto ledger = OpenLedger(folder / "s.db");
  WriteHistory(test, *ledger);
  Batch batch;
  batch.study = kStudy;
  batch.snapshots.push_back(
      {kStudy, ledger->last(), sluice::Digest().Add("nonsense").Value(), "nonsense"});
  ASSERT_TRUE(ledger->Commit(batch));
  EXPECT_EQ(Recovered(*ledger, Recover::kFromSnapshot), test.engine().Digest());
}

TEST(RecoveryTest, StudiesOfOneStoreDoNotMix) {
  const TestFolder folder;
  auto ledger = OpenLedger(folder / "s.db");
  TestEngine first("trials: 3\n");
  first.Propose(2);
  first.Report(1, 1, 0.5);
  WriteHistory(first, *ledger);

  const StudyId second{2};
  auto engine = NewEngine();
  Recorder recorder(*ledger, second, 100);
  StudyCreated created = first.created();
  created.study = second;
  created.spec.name = "second";
  ASSERT_TRUE(recorder.Record(*engine, {At(0), created}));
  ASSERT_TRUE(recorder.Record(*engine, {At(0), ControllerStarted{{NodeOf(1000)}}}));
  ASSERT_TRUE(recorder.Record(*engine, {At(1), Woken{}}));
  ASSERT_TRUE(recorder.Flush(*engine, /*snapshot=*/true));

  EXPECT_EQ(Recovered(*ledger, Recover::kFromSnapshot), first.engine().Digest());
  const auto other = RecoverEngine(ledger->database(), second);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ((*other)->Digest(), engine->Digest());
  EXPECT_EQ((*other)->study(second)->spec.name, "second");
}

TEST(RecoveryTest, SaysWhatIsWrongWithAStore) {
  const TestFolder folder;
  auto ledger = OpenLedger(folder / "s.db");
  const auto none = RecoverEngine(ledger->database(), StudyId(9));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kCorruption);
  EXPECT_THAT(none.error().message, HasSubstr("study 9 has no beginning"));

  TestEngine test("trials: 3\n");
  test.Propose(2);
  test.Report(1, 1, 0.5);
  WriteHistory(test, *ledger);
  ASSERT_TRUE(ledger->database().Execute("UPDATE reports SET metrics = 'x'"));
  EXPECT_EQ(RecoverEngine(ledger->database(), kStudy).error().code, ErrorCode::kCorruption);
  ASSERT_TRUE(
      ledger->database().Execute("UPDATE events SET kind = 'riddle' WHERE kind = 'proposed'"));
  EXPECT_EQ(RecoverEngine(ledger->database(), kStudy).error().message,
            "an event of unknown kind 'riddle': if a newer Sluice wrote it, update sluice");
}

}  // namespace
}  // namespace sluice
