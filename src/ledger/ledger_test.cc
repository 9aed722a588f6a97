// A commit is written as a whole or not at all, and group commit keeps the order of commits.

#include "ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ledger/audit.h"
#include "ledger/reader.h"
#include "ledger/recovery.h"
#include "ledger/test_store.h"
#include "ledger/writer.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

std::int64_t Count(Database& database, const std::string& table) {
  auto query = database.Prepare("SELECT count(*) FROM " + table);
  SLUICE_CHECK(query && query->Step(), "rows can be counted");
  return query->Integer(0);
}

Event Note(TestEngine& test, std::string note) {
  return {At(1), TrialNoted{test.Key(1), LaunchId(1), {}, std::move(note)}};
}

TEST(LedgerTest, EventsAreNumberedOnAcrossReopening) {
  const TestFolder folder;
  TestEngine test("trials: 3\n");
  test.Propose(2);
  auto ledger = OpenLedger(folder / "s.db");
  EXPECT_EQ(ledger->last(), EventSeq(0));
  WriteHistory(test, *ledger);
  const EventSeq last = ledger->last();
  EXPECT_EQ(Number(last), test.history().size());
  ledger.reset();
  EXPECT_EQ(OpenLedger(folder / "s.db")->last(), last);
}

TEST(LedgerTest, AnEventNumberIsUsedOnce) {
  const TestFolder folder;
  TestEngine test("trials: 3\n");
  auto ledger = OpenLedger(folder / "s.db");
  WriteHistory(test, *ledger);
  Batch batch;
  batch.study = kStudy;
  batch.events.emplace_back(EventSeq(Number(ledger->last()) + 1), Event{At(1), Woken{}});
  batch.events.emplace_back(EventSeq(1), Event{At(1), Woken{}});
  const std::int64_t before = Count(ledger->database(), "events");
  EXPECT_FALSE(ledger->Commit(batch));
  EXPECT_EQ(Count(ledger->database(), "events"), before);  // the valid event is missing too
  batch.events.pop_back();
  EXPECT_TRUE(ledger->Commit(batch));
}

TEST(LedgerTest, GoesOnAfterWhatAnotherHasWritten) {
  const TestFolder folder;
  TestEngine test("trials: 3\n");
  const auto ledger = OpenLedger(folder / "s.db");
  WriteHistory(test, *ledger);
  const auto other = OpenLedger(folder / "s.db");
  const auto write = [&test](Ledger& to) {
    Batch batch;
    batch.study = kStudy;
    batch.events.emplace_back(EventSeq(Number(to.last()) + 1), Event{At(1), Woken{}});
    batch.studies.push_back(RowOf(test.Study()));
    return to.Commit(batch);
  };
  ASSERT_TRUE(write(*other));
  EXPECT_FALSE(write(*ledger)) << "its number is taken";
  ASSERT_TRUE(ledger->TakeUp());
  EXPECT_EQ(ledger->last(), other->last());
  EXPECT_TRUE(write(*ledger));
  EXPECT_FALSE(write(*other));
  auto reader = Reader::Open(folder / "s.db");
  ASSERT_TRUE(reader);
  const auto findings = AuditStudy(**reader, *(*reader)->FindStudy(test.Study().spec.name));
  ASSERT_TRUE(findings);
  EXPECT_THAT(*findings, ::testing::IsEmpty()) << "the chain goes on too";
}

TEST(LedgerTest, AFullDiskLeavesNothingHalfWritten) {
  const TestFolder folder;
  TestEngine test("trials: 3\n");
  test.Propose(2);
  auto ledger = OpenLedger(folder / "s.db");
  WriteHistory(test, *ledger);
  const EventSeq last = ledger->last();
  const std::int64_t events = Count(ledger->database(), "events");
  ASSERT_TRUE(ledger->database().Execute("PRAGMA max_page_count = 30"));

  Batch batch;
  batch.study = kStudy;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    batch.events.emplace_back(EventSeq(Number(last) + i), Note(test, std::string(4000, 'x')));
  }
  Trial changed = test.Trial(1);
  changed.note = "half written";
  batch.trials.push_back({kStudy, changed, "{}"});
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Status full = ledger->Commit(batch);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(full.error().message,
                HasSubstr("the disk is full; nothing that was acknowledged is lost"));
    EXPECT_EQ(Count(ledger->database(), "events"), events);
    EXPECT_EQ(ledger->last(), last);
  }
  auto reader = Reader::Open(folder / "s.db");
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->Trials(kStudy)->front().note, "");

  ASSERT_TRUE(ledger->database().Execute("PRAGMA max_page_count = 100000"));  // space was made
  ASSERT_TRUE(ledger->Commit(batch));
  EXPECT_EQ(Count(ledger->database(), "events"), events + 100);
  EXPECT_TRUE(RecoverEngine(ledger->database(), kStudy));
}

TEST(LedgerTest, AttributesOfATrialAddUp) {
  const TestFolder folder;
  TestEngine test("trials: 1\n");
  test.Propose(1);
  test.Happen(AttributesSet{test.Key(1), LaunchId(1), test.Next(1), R"({"a":1,"b":"x"})"});
  test.Happen(
      AttributesSet{test.Key(1), LaunchId(1), test.Next(1), "{\"b\":\"\xc3\xa4\",\"c\":true}"});
  auto ledger = OpenLedger(folder / "s.db");
  WriteHistory(test, *ledger);
  auto reader = Reader::Open(folder / "s.db");
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->Trials(kStudy)->front().attributes,
            "{\"a\":1,\"b\":\"\xc3\xa4\",\"c\":true}");
}

TEST(WriterTest, BatchesAreCommittedInTurnWhileTheNextGathers) {
  const TestFolder folder;
  TestEngine test("trials: 3\n");
  test.Propose(1);
  auto ledger = OpenLedger(folder / "s.db");
  WriteHistory(test, *ledger);
  std::uint64_t next = Number(ledger->last());
  const std::uint64_t first = next;
  const int done = eventfd(0, EFD_CLOEXEC);
  {
    Writer writer(std::move(ledger), done);
    EXPECT_FALSE(writer.TakeDone());
    for (int round = 0; round < 20; ++round) {
      Batch batch;
      batch.study = kStudy;
      for (int i = 0; i <= round; ++i) {
        ++next;
        batch.events.emplace_back(EventSeq(next), Note(test, std::to_string(next)));
      }
      EXPECT_FALSE(writer.busy());
      writer.Submit(std::move(batch));
      EXPECT_TRUE(writer.busy());
      if (round % 2 == 0) {
        ASSERT_TRUE(writer.Wait());
        std::uint64_t count = 0;
        ASSERT_EQ(read(done, &count, sizeof count), static_cast<ssize_t>(sizeof count));
      } else {
        std::uint64_t count = 0;
        ASSERT_EQ(read(done, &count, sizeof count),
                  static_cast<ssize_t>(sizeof count));  // waits until it is done
        const auto result = writer.TakeDone();
        ASSERT_TRUE(result && *result);
      }
    }
    Batch last;
    last.study = kStudy;
    ++next;
    last.events.emplace_back(EventSeq(next), Note(test, std::to_string(next)));
    writer.Submit(std::move(last));
  }  // the writer's destructor waits until the last batch is on disk
  close(done);
  ledger = OpenLedger(folder / "s.db");
  EXPECT_EQ(Number(ledger->last()), next);
  auto query = ledger->database().Prepare(
      "SELECT seq, json_extract(body, '$.note') FROM events WHERE seq > ? ORDER BY seq");
  ASSERT_TRUE(query);
  query->Bind(1, static_cast<std::int64_t>(first));
  for (std::uint64_t seq = first + 1; seq <= next; ++seq) {
    ASSERT_TRUE(*query->Step());
    EXPECT_EQ(query->Integer(0), static_cast<std::int64_t>(seq));
    EXPECT_EQ(query->Text(1), std::to_string(seq));
  }
}

TEST(WriterTest, TellsOfAFailureAndGoesOn) {
  const TestFolder folder;
  auto ledger = OpenLedger(folder / "s.db");
  const int done = eventfd(0, EFD_CLOEXEC);
  Writer writer(std::move(ledger), done);
  for (const bool good : {true, false, true}) {
    static std::uint64_t seq = 0;
    Batch batch;
    batch.study = kStudy;
    batch.events.emplace_back(EventSeq(good ? ++seq : 1), Event{At(1), Woken{}});
    writer.Submit(std::move(batch));
    EXPECT_EQ(writer.Wait().has_value(), good);
  }
  close(done);
}

}  // namespace
}  // namespace sluice
