#include "ledger/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {
    test_.Propose(2);
    test_.now = 1;
    test_.Report(1, 3, 0.5);
    WriteHistory(test_, *ledger_, /*snapshot=*/true);
  }

  std::unique_ptr<Reader> Read() {
    auto reader = Reader::Open(path_);
    SLUICE_CHECK(reader.has_value(), "the store can be read");
    return std::move(*reader);
  }

  TestFolder folder_;
  const std::string path_ = folder_ / "s.db";
  TestEngine test_{
      "trials: 9\nobjective: {minimize: loss}\nparallelism: 2\nprogram: train {args}\n"
      "space: {lr: {float: [0, 1]}}\n",
      NodeOf(4 * kWhole)};
  std::unique_ptr<Ledger> ledger_ = OpenLedger(path_);
};

TEST_F(AuditTest, ASoundStore) {
  const auto reader = Read();
  EXPECT_THAT(*AuditStudy(*reader, *reader->FindStudy("test")), IsEmpty());
  EXPECT_EQ(*FindDamagedPage(*reader), "");
  EXPECT_EQ(*FindOrphans(*reader), std::nullopt);
}

TEST_F(AuditTest, ARowThatDoesNotAgreeWithTheEvents) {
  ASSERT_TRUE(ledger_->database().Execute("UPDATE trials SET work = 4 WHERE trial = 1"));
  const auto reader = Read();
  const auto findings = AuditStudy(*reader, *reader->FindStudy("test"));
  ASSERT_TRUE(findings);
  ASSERT_THAT(*findings, Not(IsEmpty()));
  EXPECT_THAT(findings->front(), HasSubstr("trial 1"));
}

TEST_F(AuditTest, RowsOfAStudyThatIsNotThere) {
  ASSERT_TRUE(ledger_->database().Execute("DELETE FROM events; DELETE FROM studies"));
  const auto reader = Read();
  const auto orphans = FindOrphans(*reader);
  ASSERT_TRUE(orphans && *orphans);
  EXPECT_EQ((*orphans)->table, "reports");
  EXPECT_EQ((*orphans)->count, 1);
  EXPECT_EQ((*orphans)->study, kStudy);
}

TEST_F(AuditTest, NothingIsLeftOfAStudyThatWasRemoved) {
  ASSERT_TRUE(RemoveStudy(ledger_->database(), kStudy));
  const auto reader = Read();
  EXPECT_THAT(*reader->Studies(), IsEmpty());
  EXPECT_THAT(*reader->Trials(kStudy), IsEmpty());
  EXPECT_EQ(*FindOrphans(*reader), std::nullopt);
}

TEST_F(AuditTest, ADamagedPageIsFound) {
  // Two tables share a page.
  ASSERT_TRUE(ledger_->database().Execute(
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM "
      "sqlite_schema WHERE name = 'events') WHERE name = 'reports'; PRAGMA writable_schema = OFF"));
  ledger_.reset();
  EXPECT_THAT(*FindDamagedPage(*Read()), Not(IsEmpty()));
}

}  // namespace
}  // namespace sluice
