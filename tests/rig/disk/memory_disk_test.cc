// What is left of a store after its disk has failed, at every operation and in every possible way.
// The recovered engine is compared with an engine that applied exactly the surviving events.

#include "rig/disk/memory_disk.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/test_world.h"
#include "ledger/reader.h"
#include "ledger/recovery.h"
#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using Unsynced = MemoryDisk::Unsynced;

constexpr const char* kPath = "/s.db";

// A sequence of events, and the digests of an engine that applies them.
struct Story {
  std::vector<Event> events;
  std::vector<std::uint64_t> digests;  // at index n: after n events
};

Story TellStory(std::uint64_t seed, int steps) {
  World world({.seed = seed, .sampler = "random", .stopper = "asha"});
  for (int i = 0; i < steps; ++i) world.Step(/*faulty=*/true);
  Story story{.events = world.history(), .digests = {}};
  auto engine = NewEngine();
  story.digests.push_back(engine->Digest());
  for (const Event& event : story.events) {
    (void)engine->Apply(event);
    story.digests.push_back(engine->Digest());
  }
  return story;
}

// Uses the ledger as a controller does. It opens the store, continues after the events that are
// there, and commits the rest of the story, or stops when something fails.
class Teller {
 public:
  struct Options {
    std::uint64_t seed = 0;
    int checkpoint_pages = 4000;  // the store's own
  };

  Teller(const Story& story, MemoryDisk& disk, const Options& options)
      : story_(story), disk_(disk), options_(options) {}

  // Fails as the ledger does.
  Status Tell() {
    SLUICE_TRY(Reopen());
    Random random = Random(options_.seed).Fork("teller");
    while (acknowledged_ < story_.events.size()) {
      in_flight_ = std::min<std::size_t>(acknowledged_ + 1 + random.Below(5), story_.events.size());
      for (std::size_t i = acknowledged_; i < in_flight_; ++i) {
        SLUICE_TRY(recorder_->Record(*engine_, story_.events[i]));
      }
      SLUICE_TRY(recorder_->Flush(*engine_, /*snapshot=*/random.Chance(0.2)));
      acknowledged_ = in_flight_;
      if (random.Chance(0.1)) SLUICE_TRY(Reopen());
    }
    return {};
  }

  void Die(Unsynced unsynced) {
    disk_.Crash(unsynced);
    Close();
  }

  // Opens the store and checks what is there. Returns what is wrong; empty: nothing.
  std::string Problem() {
    if (auto opened = Reopen(); !opened) return "it does not open: " + opened.error().message;
    const std::size_t there = Number(ledger_->last());
    if (there < acknowledged_)
      return fmt::format("{} events were acknowledged, {} are there", acknowledged_, there);
    if (there != acknowledged_ && there != in_flight_)
      return fmt::format("{} events are there: neither the {} acknowledged nor the {} in flight",
                         there, acknowledged_, in_flight_);
    auto check = ledger_->database().Prepare("PRAGMA integrity_check");
    if (!check || !check->Step() || check->Text(0) != "ok") return "integrity_check is not ok";
    if (there == 0) return "";
    for (const Recover how : {Recover::kFromEvents, Recover::kFromSnapshot}) {
      const auto engine = RecoverEngine(ledger_->database(), kStudy, how);
      if (!engine) return "no engine: " + engine.error().message;
      if ((*engine)->Digest() != story_.digests[there]) return "another engine than the one lost";
    }
    acknowledged_ = there;  // what a restart has found must not be lost later
    return "";
  }

  void Close() {
    recorder_.reset();
    ledger_.reset();
  }
  std::size_t acknowledged() const { return acknowledged_; }

 private:
  Status Reopen() {
    Close();
    SLUICE_ASSIGN(ledger_, Ledger::Open(kPath, disk_.disk()));
    SLUICE_TRY(ledger_->database().Execute(
        fmt::format("PRAGMA wal_autocheckpoint = {}", options_.checkpoint_pages)));
    engine_ = NewEngine();
    for (std::size_t i = 0; i < Number(ledger_->last()); ++i)
      (void)engine_->Apply(story_.events[i]);
    (void)engine_->TakeChanged();
    recorder_.emplace(*ledger_, kStudy, /*batch_size=*/1000);
    return {};
  }

  const Story& story_;
  MemoryDisk& disk_;
  Options options_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Engine> engine_;
  std::optional<Recorder> recorder_;
  std::size_t acknowledged_ = 0;
  std::size_t in_flight_ = 0;
};

// How many operations it takes to write the story without faults.
std::uint64_t Operations(const Story& story, const Teller::Options& options) {
  MemoryDisk disk({.seed = 1});
  Teller teller(story, disk, options);
  SLUICE_CHECK(teller.Tell().has_value(), "nothing disturbs it");
  return disk.operations();
}

// Crashes at one operation, restarts, writes the rest of the story, and cuts the power at the end.
// Returns what is wrong after each of these; empty: nothing.
std::string ProblemOfCrash(const Story& story, const Teller::Options& options, MemoryDisk& disk,
                           std::uint64_t operation, Unsynced unsynced) {
  Teller teller(story, disk, options);
  disk.DieAt(operation);
  const Status told = teller.Tell();
  if (!told && !disk.dead()) return "it failed before the crash: " + told.error().message;
  teller.Die(unsynced);
  if (std::string problem = teller.Problem(); !problem.empty()) return problem;
  if (const Status rest = teller.Tell(); !rest) return "it does not go on: " + rest.error().message;
  teller.Die(Unsynced::kLost);
  return teller.Problem();
}

class CrashTest : public ::testing::TestWithParam<Unsynced> {};

TEST_P(CrashTest, AtEveryOperationLosesNothingAcknowledged) {
  for (const int checkpoint_pages : {4, 4000}) {
    const Teller::Options options{.seed = 5, .checkpoint_pages = checkpoint_pages};
    const Story story = TellStory(11, 25);
    const std::uint64_t operations = Operations(story, options);
    ASSERT_GT(operations, 100U);
    for (std::uint64_t at = 0; at <= operations; ++at) {
      MemoryDisk disk({.seed = at});
      ASSERT_EQ(ProblemOfCrash(story, options, disk, at, GetParam()), "")
          << "operation " << at << " of " << operations << ", checkpoints of " << checkpoint_pages;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Unsynced, CrashTest,
                         ::testing::Values(Unsynced::kLost, Unsynced::kKept, Unsynced::kDrawn),
                         [](const auto& info) -> std::string {
                           switch (info.param) {
                             case Unsynced::kLost: return "Lost";
                             case Unsynced::kKept: return "Kept";
                             case Unsynced::kDrawn: return "Drawn";
                           }
                           return "";
                         });

TEST(MemoryDiskTest, ManyStoriesWithManyCrashesLoseNothing) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Story story = TellStory(seed, 60);
    Random random = Random(seed).Fork("crashes");
    const Teller::Options options{.seed = seed, .checkpoint_pages = random.Chance(0.5) ? 6 : 4000};
    MemoryDisk disk({.seed = seed});
    Teller teller(story, disk, options);
    for (int crash = 0; crash < 6; ++crash) {
      disk.DieAt(disk.operations() + random.Below(80));
      const Status told = teller.Tell();
      teller.Die(std::vector{Unsynced::kLost, Unsynced::kKept, Unsynced::kDrawn}[random.Below(3)]);
      ASSERT_EQ(teller.Problem(), "") << "seed " << seed << ", crash " << crash;
      if (told) break;
    }
  }
}

TEST(MemoryDiskTest, ADiskThatLiesAboutSyncIsFoundOut) {
  const Teller::Options options{.seed = 5};
  const Story story = TellStory(11, 25);
  const std::uint64_t operations = Operations(story, options);
  int found = 0;
  for (std::uint64_t at = 0; at <= operations; at += 10) {
    MemoryDisk disk({.seed = at, .lies_about_sync = true});
    found += ProblemOfCrash(story, options, disk, at, Unsynced::kLost).empty() ? 0 : 1;
  }
  EXPECT_GT(found, 10);
}

TEST(MemoryDiskTest, AnErrorAtAnyOperationIsToldAndHeals) {
  for (const int checkpoint_pages : {4, 4000}) {
    const Teller::Options options{.seed = 5, .checkpoint_pages = checkpoint_pages};
    const Story story = TellStory(11, 25);
    const std::uint64_t operations = Operations(story, options);
    int errors = 0;
    for (std::uint64_t at = 0; at < operations; ++at) {
      MemoryDisk disk({.seed = at});
      Teller teller(story, disk, options);
      disk.FailAt(at);
      if (const Status told = teller.Tell(); !told) {
        ++errors;
        ASSERT_THAT(told.error().message, AnyOf(HasSubstr("reading or writing failed"),
                                                HasSubstr("cannot open the store")))
            << "operation " << at;
      }
      ASSERT_EQ(teller.Problem(), "") << "operation " << at;
      const Status rest = teller.Tell();
      ASSERT_TRUE(rest) << rest.error().message;
      teller.Die(Unsynced::kLost);
      ASSERT_EQ(teller.Problem(), "") << "operation " << at;
      EXPECT_EQ(teller.acknowledged(), story.events.size());
    }
    // SQLite does not report errors while it cleans up. It reports all others.
    EXPECT_GT(errors, static_cast<int>(operations / 2));
  }
}

TEST(MemoryDiskTest, AReadThatFailsIsToldAndHeals) {
  const Teller::Options options{.seed = 5, .checkpoint_pages = 4};
  const Story story = TellStory(11, 25);
  const auto reads = [&] {
    MemoryDisk disk({.seed = 1});
    Teller teller(story, disk, options);
    EXPECT_TRUE(teller.Tell());
    return disk.reads();
  }();
  int errors = 0;
  for (std::uint64_t at = 0; at < reads; ++at) {
    MemoryDisk disk({.seed = at});
    Teller teller(story, disk, options);
    disk.FailReadAt(at);
    if (const Status told = teller.Tell(); !told) {
      ++errors;
      ASSERT_THAT(told.error().message, HasSubstr("reading or writing failed")) << "read " << at;
    }
    disk.FailReadAt(MemoryDisk::kUnlimited);
    ASSERT_EQ(teller.Problem(), "") << "read " << at;
    const Status rest = teller.Tell();
    ASSERT_TRUE(rest) << rest.error().message;
    EXPECT_EQ(teller.acknowledged(), story.events.size());
  }
  EXPECT_GT(errors, 0);
}

TEST(MemoryDiskTest, ErrorsNowAndThenNeverLoseAnything) {
  int errors = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Story story = TellStory(seed, 60);
    MemoryDisk disk({.seed = seed});
    disk.FailOften({.write = 0.02, .sync = 0.05});
    Teller teller(story, disk, {.seed = seed, .checkpoint_pages = 6});
    for (int attempt = 0; attempt < 5; ++attempt) {
      if (!teller.Tell()) ++errors;
      if (attempt % 2 == 0) teller.Die(Unsynced::kDrawn);
      disk.FailOften({});
      ASSERT_EQ(teller.Problem(), "") << "seed " << seed;
      disk.FailOften({.write = 0.02, .sync = 0.05});
    }
  }
  EXPECT_GT(errors, 50);
}

TEST(MemoryDiskTest, AFullDiskIsToldAndHealsWithSpace) {
  const Teller::Options options{.seed = 5, .checkpoint_pages = 20};
  const Story story = TellStory(11, 25);
  int full = 0;
  for (std::uint64_t capacity = 0; capacity < 250'000; capacity += 3'001) {
    MemoryDisk disk({.seed = capacity});
    Teller teller(story, disk, options);
    disk.SetCapacity(capacity);
    if (const Status told = teller.Tell(); !told) {
      ++full;
      ASSERT_EQ(told.error().code, ErrorCode::kUnavailable);
      ASSERT_THAT(told.error().message, HasSubstr("the disk is full")) << capacity;
    }
    EXPECT_LE(disk.used_bytes(), capacity);
    disk.SetCapacity(MemoryDisk::kUnlimited);
    ASSERT_EQ(teller.Problem(), "") << capacity;
    const Status rest = teller.Tell();
    ASSERT_TRUE(rest) << rest.error().message;
    teller.Die(Unsynced::kLost);
    ASSERT_EQ(teller.Problem(), "") << capacity;
    EXPECT_EQ(teller.acknowledged(), story.events.size());
  }
  EXPECT_GT(full, 20);
}

// If making a store was interrupted, a reader fails with that message, and the next writer makes
// the store.
TEST(MemoryDiskTest, AStoreInterruptedWhileItIsMadeIsMadeByTheNext) {
  bool rolled_back = false;
  for (std::uint64_t at = 0;; ++at) {
    MemoryDisk disk({.seed = at});
    disk.DieAt(at);
    const bool made = Ledger::Open(kPath, disk.disk()).has_value();
    disk.Crash(Unsynced::kKept);
    const auto reader = Reader::Open(kPath, disk.disk());
    if (!reader && reader.error().code != ErrorCode::kNotFound) {
      rolled_back = true;
      EXPECT_EQ(reader.error().code, ErrorCode::kFailedPrecondition);
      EXPECT_THAT(reader.error().message, HasSubstr("interrupted while it was made"));
    }
    const auto ledger = Ledger::Open(kPath, disk.disk());
    ASSERT_TRUE(ledger) << at << ": " << ledger.error().message;
    if (made) break;
  }
  EXPECT_TRUE(rolled_back);
}

// After a commit that failed because the disk was full, a controller may go on with the same
// ledger.
TEST(MemoryDiskTest, ALedgerGoesOnAfterACommitThatFailed) {
  const Story story = TellStory(11, 25);
  MemoryDisk disk({.seed = 3});
  auto ledger = Ledger::Open(kPath, disk.disk());
  ASSERT_TRUE(ledger) << ledger.error().message;
  std::uint64_t seq = 0;
  for (const Event& event : story.events) {
    Batch batch;
    batch.study = kStudy;
    batch.events.emplace_back(EventSeq(++seq), event);
    disk.SetCapacity(disk.used_bytes() + 1000);
    ASSERT_FALSE((*ledger)->Commit(batch)) << seq;
    disk.SetCapacity(MemoryDisk::kUnlimited);
    const Status committed = (*ledger)->Commit(batch);
    ASSERT_TRUE(committed) << committed.error().message;
  }
  disk.Crash(Unsynced::kLost);
  ledger->reset();
  ledger = Ledger::Open(kPath, disk.disk());
  ASSERT_TRUE(ledger) << ledger.error().message;
  const auto engine = RecoverEngine((*ledger)->database(), kStudy);
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ((*engine)->Digest(), story.digests.back());
}

TEST(MemoryDiskTest, ReadersSeeWhatAWriterCommits) {
  MemoryDisk disk({});
  EXPECT_FALSE(Database::Exists(kPath, disk.disk()));
  EXPECT_EQ(Reader::Open(kPath, disk.disk()).error().code, ErrorCode::kNotFound);
  auto ledger = Ledger::Open(kPath, disk.disk());
  ASSERT_TRUE(ledger) << ledger.error().message;
  EXPECT_TRUE(Database::Exists(kPath, disk.disk()));
  TestEngine test("trials: 3\n");
  test.Propose(2);
  WriteHistory(test, **ledger);
  auto reader = Reader::Open(kPath, disk.disk());
  ASSERT_TRUE(reader) << reader.error().message;
  const auto version = (*reader)->Version();
  const auto studies = (*reader)->Studies();
  ASSERT_TRUE(studies) << studies.error().message;
  ASSERT_EQ(studies->size(), 1U);
  EXPECT_EQ(studies->front().made(), 2);
  Batch batch;
  batch.study = kStudy;
  batch.events.emplace_back(EventSeq(Number((*ledger)->last()) + 1), Event{At(1), Woken{}});
  ASSERT_TRUE((*ledger)->Commit(batch));
  EXPECT_NE(*(*reader)->Version(), *version);
}

TEST(MemoryDiskTest, DisksDoNotShareAnything) {
  MemoryDisk one({}), other({});
  auto ledger = Ledger::Open(kPath, one.disk());
  ASSERT_TRUE(ledger);
  EXPECT_TRUE(Database::Exists(kPath, one.disk()));
  EXPECT_FALSE(Database::Exists(kPath, other.disk()));
  EXPECT_EQ(other.operations(), 0U);
  const Disk gone = MemoryDisk({}).disk();
  EXPECT_FALSE(Ledger::Open(kPath, gone));
}

// What survives depends on the seed alone.
TEST(MemoryDiskTest, TheSameSeedLosesTheSame) {
  const Story story = TellStory(11, 25);
  const auto survivors = [&](std::uint64_t seed) {
    std::vector<std::size_t> there;
    MemoryDisk disk({.seed = seed});
    Teller teller(story, disk, {.seed = 2, .checkpoint_pages = 4});
    for (int crash = 0; crash < 12; ++crash) {
      disk.DieAt(disk.operations() + 17);
      (void)teller.Tell();
      teller.Die(Unsynced::kDrawn);
      EXPECT_EQ(teller.Problem(), "");
      there.push_back(teller.acknowledged());
    }
    there.push_back(disk.operations());
    return there;
  };
  for (std::uint64_t seed = 0; seed < 5; ++seed) EXPECT_EQ(survivors(seed), survivors(seed));
}

}  // namespace
}  // namespace sluice
