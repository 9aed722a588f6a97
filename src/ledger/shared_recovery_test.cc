// Studies that shared an engine are recovered together, and each alone once it was closed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/test_shared_engine.h"
#include "ledger/audit.h"
#include "ledger/openings.h"
#include "ledger/reader.h"
#include "ledger/recovery.h"
#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::UnorderedElementsAre;

// Writes what happens to studies that come and go, as a controller would.
class SharedStore {
 public:
  explicit SharedStore(std::uint64_t seed) : random_(seed) { DoNotSync(*ledger_); }

  Ledger& ledger() { return *ledger_; }
  Database& database() { return ledger_->database(); }
  Engine& live() { return *live_; }
  std::unique_ptr<Reader> Read() { return std::move(*Reader::Open(folder_ / "s.db")); }

  StudyId Create(const std::string& lines) {
    const StudyId id{static_cast<std::uint32_t>(created_.size() + 1)};
    StudyCreated created{.study = id,
                         .source = SourceOf(lines),
                         .folder = "/",
                         .seed = Number(id),
                         .spec = SpecOf(lines, fmt::format("study{}", Number(id)))};
    created_.push_back(id);
    alone_[id] = NewEngine();
    HappenAlone(id, std::move(created));
    return id;
  }

  // Of a study that is alone.
  template <typename Body>
  void HappenAlone(StudyId id, Body body) {
    const Event event{At(++now_), std::move(body)};
    (void)alone_.at(id)->Apply(event);
    Write(id, event, *alone_.at(id), id);
  }

  void Open(StudyId id) {
    if (live_->studies().empty()) Happen(NodesChanged{{NodeOf(3 * kWhole)}});
    live_->Open(std::move(alone_.at(id)));
    alone_.erase(id);
    Happen(StudyOpened{id});
    if (random_.Chance(0.3)) Snapshot({}, *live_);
  }

  void Close(StudyId id) {
    Happen(StudyPauseAsked{id});
    for (const TrialId trial : std::vector<TrialId>(live_->study(id)->running)) End(id, trial);
    Happen(StudyClosed{id});
    alone_[id] = live_->Close(id);
    if (random_.Chance(0.7)) Snapshot(id, *alone_.at(id));
  }

  template <typename Body>
  void Happen(Body body) {
    const Event event{At(++now_), std::move(body)};
    std::vector<Command> commands = live_->Apply(event);
    Write({}, event, *live_, {});
    // Proposals are answered in the order they were asked for.
    for (const Command& command : commands) {
      if (const auto* propose = std::get_if<Propose>(&command)) asked_.push_back(*propose);
    }
    while (!std::is_same_v<Body, Proposed> && !asked_.empty()) {
      const Propose next = asked_.front();
      asked_.pop_front();
      if (live_->study(next.study) != nullptr)
        Happen(Proposed{next.study, next.counter, Point{random_.Uniform()}});
    }
    if (!std::is_same_v<Body, StudyClosed> && random_.Chance(0.05)) Snapshot({}, *live_);
  }

  void End(StudyId id, TrialId trial) {
    const LaunchId launch = live_->study(id)->trial(trial).launch.id;
    Happen(Reported{.trial = {id, trial},
                    .launch = launch,
                    .position = {.seq = live_->study(id)->trial(trial).launch.seq + 1, .offset = 0},
                    .work = live_->study(id)->trial(trial).work + 1,
                    .metrics = {{"loss", random_.Uniform()}}});
    Happen(LaunchEnded{.trial = {id, trial},
                       .launch = launch,
                       .position = {},
                       .ending = random_.Chance(0.2) ? Ending::kLost : Ending::kDone,
                       .reason = ""});
  }

  // Another controller goes on. Its clock may be behind.
  void Restart() {
    live_ = std::move(*RecoverShared(database()));
    for (auto& [id, engine] : alone_) engine = std::move(*RecoverEngine(database(), id));
    if (random_.Chance(0.3) && live_->studies().empty()) now_ -= 5;
    Happen(ControllerStarted{{NodeOf((1 + static_cast<Milli>(random_.Below(4))) * kWhole),
                              NodeOf(random_.Chance(0.5) ? kWhole : 2 * kWhole)}});
    if (random_.Chance(0.5)) Happen(NodesChanged{{NodeOf(2 * kWhole)}});
  }

  void Step() {
    if (random_.Chance(0.05)) Restart();
    const std::uint64_t what = random_.Below(20);
    const bool any_open = !live_->studies().empty();
    if (what == 0 && created_.size() < 7) {
      Create(fmt::format("trials: 12\nweight: {}\npolicy: {}\nsampler: random\n",
                         1 + random_.Below(3), random_.Chance(0.5) ? "fifo" : "confluence"));
    } else if (what <= 2 && !alone_.empty()) {
      const StudyId id = AnyAlone();
      Open(id);
      if (live_->study(id)->paused) Happen(StudyResumed{id, {}, {}});
    } else if (what == 3 && any_open) {
      Close(AnyOpen());
    } else if (what == 4 && any_open) {
      Happen(ControllerStarted{{NodeOf((1 + static_cast<Milli>(random_.Below(4))) * kWhole)}});
    } else if (what == 5 && !alone_.empty()) {
      const StudyId id = AnyAlone();
      HappenAlone(id, PointsEnqueued{id, {Point{0.25}}});
    } else if (any_open) {
      const StudyId id = AnyOpen();
      const std::vector<TrialId>& running = live_->study(id)->running;
      if (!running.empty()) End(id, running[random_.Below(running.size())]);
    }
  }

  void ExpectRecovered() {
    for (const Recover how : {Recover::kFromSnapshot, Recover::kFromEvents}) {
      const auto shared = RecoverShared(database(), how);
      ASSERT_TRUE(shared) << shared.error().message;
      if (!live_->studies().empty()) {
        ASSERT_EQ((*shared)->Digest(), live_->Digest());
      } else {
        ASSERT_TRUE((*shared)->studies().empty());
      }
      for (const auto& [id, engine] : alone_) {
        const auto recovered = RecoverEngine(database(), id, how);
        ASSERT_TRUE(recovered) << recovered.error().message;
        ASSERT_EQ((*recovered)->Digest(), engine->Digest()) << "study " << Number(id);
      }
    }
  }

 private:
  StudyId AnyAlone() {
    auto at = alone_.begin();
    std::advance(at, random_.Below(alone_.size()));
    return at->first;
  }
  StudyId AnyOpen() { return live_->studies()[random_.Below(live_->studies().size())]->id; }

  void Write(StudyId owner, const Event& event, Engine& engine, StudyId row) {
    Batch batch;
    batch.study = owner;
    batch.events.emplace_back(EventSeq(Number(ledger_->last()) + 1), event);
    (void)engine.TakeChanged();
    if (IsSet(row)) batch.studies.push_back(RowOf(*engine.study(row)));
    SLUICE_CHECK(ledger_->Commit(batch).has_value(), "it is written");
  }

  void Snapshot(StudyId id, const Engine& engine) {
    Batch batch;
    batch.snapshots.push_back(SnapshotOf(engine, id, ledger_->last()));
    SLUICE_CHECK(ledger_->Commit(batch).has_value(), "it is written");
  }

  Random random_;
  std::deque<Propose> asked_;
  TestFolder folder_;
  std::unique_ptr<Ledger> ledger_ = OpenLedger(folder_ / "s.db");
  std::unique_ptr<Engine> live_ = NewEngine();
  std::map<StudyId, std::unique_ptr<Engine>> alone_;
  std::vector<StudyId> created_;
  double now_ = 0;
};

TEST(SharedRecoveryTest, StudiesThatComeAndGoAreRecoveredAtEveryPoint) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SharedStore store(seed);
    for (int step = 0; step < 150; ++step) {
      store.Step();
      if (step % 10 == 9) store.ExpectRecovered();
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SharedRecoveryTest, AStudyThatIsClosedCostsARestartNothing) {
  SharedStore store(1);
  const StudyId a = store.Create("trials: 50\n");
  const StudyId b = store.Create("trials: 50\n");
  store.Open(a);
  for (int i = 0; i < 30; ++i) store.End(a, store.live().study(a)->running.front());
  store.Close(a);
  store.Open(b);
  std::int64_t replayed = -1;
  ASSERT_TRUE(RecoverShared(store.database(), Recover::kFromSnapshot, &replayed));
  EXPECT_LT(replayed, 12);
  ASSERT_TRUE(RecoverShared(store.database(), Recover::kFromEvents, &replayed));
  EXPECT_LT(replayed, 12) << "the two were never in the engine together";
}

TEST(SharedRecoveryTest, CompanionsAreThoseThatWereInTheEngineTogether) {
  SharedStore store(2);
  std::vector<StudyId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(store.Create("trials: 3\n"));
  store.Open(ids[0]);
  store.Open(ids[1]);
  store.Close(ids[0]);
  store.Close(ids[1]);
  store.Open(ids[2]);
  store.Close(ids[2]);
  store.Open(ids[3]);
  store.Open(ids[1]);
  const auto openings = Openings::Read(store.database());
  ASSERT_TRUE(openings);
  EXPECT_THAT(openings->CompanionsOf(ids[0]), UnorderedElementsAre(ids[0], ids[1], ids[3]));
  EXPECT_THAT(openings->CompanionsOf(ids[2]), UnorderedElementsAre(ids[2]));
  EXPECT_THAT(openings->CompanionsOf(ids[4]), UnorderedElementsAre(ids[4]));
  EXPECT_THAT(openings->open(), UnorderedElementsAre(ids[1], ids[3]));
  EXPECT_FALSE(openings->WasOpened(ids[4]));
}

TEST(SharedRecoveryTest, WhatARemovedStudyDidStaysWhileOthersAreReplayedWithIt) {
  SharedStore store(3);
  const StudyId a = store.Create("trials: 20\n");
  const StudyId b = store.Create("trials: 20\n");
  const StudyId c = store.Create("trials: 20\n");
  store.Open(a);
  store.Open(b);
  for (int i = 0; i < 6; ++i) store.End(a, store.live().study(a)->running.front());
  store.Close(a);
  store.Close(b);
  store.Open(c);
  store.Close(c);
  const auto events_of = [&](StudyId id) {
    auto query = store.database().Prepare(fmt::format(
        "SELECT (SELECT count(*) FROM events WHERE study = {0}) + (SELECT count(*) FROM reports "
        "WHERE study = {0})",
        Number(id)));
    SLUICE_CHECK(query && query->Step(), "it counts");
    return query->Integer(0);
  };
  store.Open(c);
  EXPECT_FALSE(RemoveStudy(store.database(), c)) << "it is open";
  store.Close(c);
  ASSERT_TRUE(RemoveStudy(store.database(), c));
  EXPECT_EQ(events_of(c), 0) << "it was alone in the engine";
  ASSERT_TRUE(RemoveStudy(store.database(), a));
  EXPECT_GT(events_of(a), 0);
  EXPECT_EQ(*FindOrphans(*store.Read()), std::nullopt);
  const auto quick = RecoverEngine(store.database(), b, Recover::kFromSnapshot);
  const auto slow = RecoverEngine(store.database(), b, Recover::kFromEvents);
  ASSERT_TRUE(quick && slow);
  EXPECT_EQ((*quick)->Digest(), (*slow)->Digest());
  ASSERT_TRUE(RemoveStudy(store.database(), b));
  EXPECT_EQ(events_of(a) + events_of(b), 0);
  EXPECT_EQ(events_of(StudyId{}), 0) << "nothing is left that they concern";
  EXPECT_TRUE(*IsChainWhole(*store.Read()));
}

TEST(SharedRecoveryTest, AnIdThatAnOpeningNamesIsNotUsedAgain) {
  SharedStore store(4);
  const StudyId a = store.Create("trials: 3\n");
  const StudyId b = store.Create("trials: 3\n");
  store.Open(b);
  store.Close(b);
  ASSERT_TRUE(RemoveStudy(store.database(), b));
  const auto next = NextStudyId(store.database());
  ASSERT_TRUE(next);
  EXPECT_GT(Number(*next), Number(b));
  ASSERT_TRUE(RemoveStudy(store.database(), a));
}

TEST(SharedRecoveryTest, EventsOfNoStudyHaveAChain) {
  SharedStore store(4);
  store.Open(store.Create("trials: 3\n"));
  EXPECT_TRUE(*IsChainWhole(*store.Read()));
  ASSERT_TRUE(store.database().Execute("UPDATE events SET time_us = 7 WHERE study = 0"));
  EXPECT_FALSE(*IsChainWhole(*store.Read()));
}

}  // namespace
}  // namespace sluice
