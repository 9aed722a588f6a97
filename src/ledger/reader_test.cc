// What the command line sees of a store while a controller writes it.

#include "ledger/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A study with one trial in each of several states.
class ReaderTest : public ::testing::Test {
 protected:
  ReaderTest() : ledger_(OpenLedger(folder_ / "s.db")) {
    test_.Propose(4);
    test_.now = 1;
    test_.Report(1, 3, 0.5);
    test_.Report(2, 3, 0.25);
    test_.Report(2, 4, std::numeric_limits<double>::quiet_NaN());
    test_.Report(3, 1, 0.25);
    test_.now = 2;
    test_.End(2, Ending::kDone, "", 77);
    test_.End(4, Ending::kFailed, "exit code 1");
    WriteHistory(test_, *ledger_);
    auto reader = Reader::Open(folder_ / "s.db");
    SLUICE_CHECK(reader.has_value(), "the store can be read");
    reader_ = std::move(*reader);
    auto study = reader_->FindStudy("test");
    SLUICE_CHECK(study.has_value(), "the study is there");
    study_ = *study;
  }

  static std::vector<std::uint32_t> Ids(const Result<std::vector<TrialInfo>>& trials) {
    std::vector<std::uint32_t> ids;
    for (const TrialInfo& trial : *trials) ids.push_back(Number(trial.id));
    return ids;
  }

  TestFolder folder_;
  TestEngine test_{
      "trials: 9\nretries: 0\nobjective: {minimize: loss}\nparallelism: 4\nseed: 5\ndeadline: 1h\n"
      "program: train {args}\nspace: {lr: {float: [0, 1]}}\n",
      NodeOf(4 * kWhole)};
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Reader> reader_;
  StudyInfo study_;
};

TEST_F(ReaderTest, TheNodesItRanOn) {
  const auto nodes = reader_->Nodes(kStudy);
  ASSERT_TRUE(nodes);
  EXPECT_THAT(*nodes, ElementsAre(NodeOf(4 * kWhole)));
  EXPECT_THAT(*reader_->Nodes(StudyId(7)), IsEmpty());
}

TEST_F(ReaderTest, AStudy) {
  EXPECT_EQ(study_.id, kStudy);
  EXPECT_EQ(study_.metric, "loss");
  EXPECT_FALSE(study_.maximize);
  EXPECT_EQ(study_.unit, "epoch");
  EXPECT_EQ(study_.trials, 9);
  EXPECT_EQ(study_.made(), 4);
  EXPECT_EQ(study_.count(TrialState::kRunning), 2);
  EXPECT_EQ(study_.count(TrialState::kComplete), 1);
  EXPECT_EQ(study_.count(TrialState::kFailed), 1);
  EXPECT_EQ(Number(study_.best), 2U);
  EXPECT_EQ(study_.ending, "running");
  EXPECT_FALSE(study_.finished);
  EXPECT_EQ(study_.deadline, At(3600));
  EXPECT_EQ(study_.updated, At(2));
  EXPECT_EQ(reader_->Studies()->size(), 1U);
  EXPECT_EQ(reader_->LatestStudy()->name, "test");
  EXPECT_EQ(*reader_->Source(kStudy), test_.created().source);
  EXPECT_EQ(reader_->Source(StudyId(9)).error().code, ErrorCode::kCorruption);
}

TEST_F(ReaderTest, AnUnknownNameGetsASuggestion) {
  const auto none = reader_->FindStudy("tset");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("no study 'tset'"));
  EXPECT_THAT(none.error().message, HasSubstr("did you mean 'test'?"));
}

TEST_F(ReaderTest, Trials) {
  EXPECT_THAT(Ids(reader_->Trials(kStudy)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Ids(reader_->Trials(kStudy, TrialState::kRunning)), ElementsAre(1, 3));
  EXPECT_THAT(Ids(reader_->Trials(kStudy, TrialState::kFailed)), ElementsAre(4));
  EXPECT_THAT(Ids(reader_->Trials(kStudy, TrialState::kPaused)), IsEmpty());
  EXPECT_THAT(Ids(reader_->Trials(StudyId(2))), IsEmpty());

  const auto trial = reader_->FindTrial(study_, TrialId(2));
  ASSERT_TRUE(trial);
  EXPECT_EQ(trial->state, TrialState::kComplete);
  EXPECT_EQ(trial->params, R"({"lr":0.5})");
  EXPECT_EQ(trial->attributes, "{}");
  EXPECT_EQ(trial->work, 4);
  EXPECT_FALSE(trial->target);
  EXPECT_TRUE(std::isnan(trial->value));
  EXPECT_EQ(trial->result, 0.25);
  EXPECT_EQ(trial->result_work, 3);
  EXPECT_EQ(trial->reports, 2);
  EXPECT_EQ(trial->ended, At(2));
  EXPECT_EQ(trial->busy, std::chrono::seconds(2));
  EXPECT_EQ(trial->saved_bytes, 77);
  EXPECT_EQ(reader_->FindTrial(study_, TrialId(4))->note, "exit code 1");
  const auto none = reader_->FindTrial(study_, TrialId(5));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "study 'test' has no trial 5: its trials are numbered from 1 to 4");
}

TEST_F(ReaderTest, TheLatestTrialsTheNewestFirst) {
  const auto latest = reader_->LatestTrials(kStudy, 3);
  ASSERT_TRUE(latest) << latest.error().message;
  ASSERT_EQ(latest->size(), 3U);
  EXPECT_EQ(latest->at(0).id, TrialId(4));
  EXPECT_EQ(latest->at(0).state, TrialState::kFailed);
  EXPECT_EQ(latest->at(0).note, "exit code 1");
  EXPECT_TRUE(std::isnan(latest->at(0).result));
  EXPECT_EQ(latest->at(1).id, TrialId(3));
  EXPECT_EQ(latest->at(1).state, TrialState::kRunning);
  EXPECT_EQ(latest->at(1).started, reader_->FindTrial(study_, TrialId(3))->started);
  EXPECT_EQ(latest->at(2).id, TrialId(2));
  EXPECT_EQ(latest->at(2).work, 4);
  EXPECT_EQ(latest->at(2).result, 0.25);
  EXPECT_EQ(latest->at(2).result_work, 3);
  EXPECT_EQ(latest->at(2).reports, 2);
  EXPECT_EQ(latest->at(2).ended, At(2));
  EXPECT_EQ(latest->at(2).busy, std::chrono::seconds(2));
  EXPECT_THAT(*reader_->LatestTrials(StudyId(2), 3), IsEmpty());
}

TEST_F(ReaderTest, ATrialInAnUnknownStateIsDamage) {
  ASSERT_TRUE(ledger_->database().Execute("UPDATE trials SET state = 'lost' WHERE trial = 2"));
  const std::string damage = "a trial is in the unknown state 'lost'";
  EXPECT_EQ(reader_->Trials(kStudy).error().message, damage);
  EXPECT_EQ(reader_->LatestTrials(kStudy, 9).error().message, damage);
}

TEST_F(ReaderTest, TheBestFirstTiesByNumberNothingWithoutAResult) {
  EXPECT_THAT(Ids(reader_->Best(study_, 10)), ElementsAre(2, 3, 1));
  EXPECT_THAT(Ids(reader_->Best(study_, 1)), ElementsAre(2));
  study_.maximize = true;
  EXPECT_THAT(Ids(reader_->Best(study_, 10)), ElementsAre(1, 2, 3));
}

TEST_F(ReaderTest, ReportsInOrder) {
  std::vector<std::string> lines;
  const auto visit = [&](const ReportInfo& report) {
    lines.push_back(fmt::format("{}.{} {} {}", Number(report.trial), Number(report.launch),
                                report.work, report.metrics));
  };
  ASSERT_TRUE(reader_->EachReport(kStudy, std::nullopt, visit));
  EXPECT_THAT(lines, ElementsAre("1.1 3 {\"loss\":0.5}", "2.1 3 {\"loss\":0.25}",
                                 "2.1 4 {\"loss\":\"NaN\"}", "3.1 1 {\"loss\":0.25}"));
  lines.clear();
  ASSERT_TRUE(reader_->EachReport(kStudy, TrialId(2), visit));
  EXPECT_EQ(lines.size(), 2U);
}

TEST_F(ReaderTest, SeesWholeCommitsAndThatThereWasOne) {
  const auto before = reader_->Version();
  ASSERT_TRUE(before);
  EXPECT_EQ(*reader_->Version(), *before);
  Batch batch;
  batch.study = kStudy;
  batch.events.emplace_back(EventSeq(Number(ledger_->last()) + 1), Event{At(5), Woken{}});
  batch.studies.push_back(RowOf(test_.Study()));
  ASSERT_TRUE(ledger_->Commit(batch));
  EXPECT_NE(*reader_->Version(), *before);
  EXPECT_EQ(reader_->FindStudy("test")->updated, At(5));
}

TEST_F(ReaderTest, AFrozenReaderStaysAtOneMoment) {
  ASSERT_TRUE(reader_->Freeze());
  ASSERT_EQ(reader_->FindStudy("test")->trials, 9);  // the moment is that of the first read
  ASSERT_TRUE(ledger_->database().Execute("UPDATE studies SET trials = 77"));
  EXPECT_EQ(reader_->FindStudy("test")->trials, 9);
  auto another = Reader::Open(folder_ / "s.db");
  ASSERT_TRUE(another);
  EXPECT_EQ((*another)->FindStudy("test")->trials, 77);
}

TEST_F(ReaderTest, ALargeSeedComesBack) {
  StudyRow row = RowOf(test_.Study());
  row.id = StudyId(2);
  row.name = "large";
  row.seed = (1ULL << 63) + 12345;
  Batch batch;
  batch.study = StudyId(2);
  batch.events.emplace_back(EventSeq(Number(ledger_->last()) + 1), Event{At(9), Woken{}});
  batch.studies.push_back(row);
  ASSERT_TRUE(ledger_->Commit(batch));
  EXPECT_EQ(reader_->FindStudy("large")->seed, row.seed);
  EXPECT_EQ(reader_->LatestStudy()->name, "large");
}

TEST(EmptyReaderTest, SaysThatThereIsNoStudyYet) {
  const TestFolder folder;
  ASSERT_TRUE(OpenStoreForWriting(folder / "s.db"));
  auto reader = Reader::Open(folder / "s.db");
  ASSERT_TRUE(reader);
  EXPECT_THAT(reader->get()->LatestStudy().error().message, HasSubstr("no study here yet"));
  EXPECT_THAT(*reader->get()->Studies(), IsEmpty());
}

TEST_F(ReaderTest, ResultsOfTrialsThatEndedWithOne) {
  const auto results = reader_->Results(study_, 100);
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->size(), 1U);  // one failed, two run
  EXPECT_EQ(results->front().params, reader_->FindTrial(study_, TrialId(2))->params);
  EXPECT_EQ(results->front().result, 0.25);
}

TEST_F(ReaderTest, ResultsOfALargeStudyAreAnEvenPart) {
  ASSERT_TRUE(ledger_->database().Execute(
      "WITH RECURSIVE n(i) AS (SELECT 5 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
      "INSERT INTO trials (study, trial, state, params, work, best_value, best_work, launch, "
      "failures, reports, created_us, started_us, ended_us, busy_us, saved_work, saved_bytes, "
      "note) "
      "SELECT id, i, 'complete', '{}', 1, i, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, '' FROM n, studies; "
      "UPDATE studies SET complete = complete + 296"));
  const auto study = reader_->FindStudy("test");
  ASSERT_TRUE(study);
  const auto all = reader_->Results(*study, 300);
  const auto part = reader_->Results(*study, 30);
  ASSERT_TRUE(all && part);
  EXPECT_EQ(all->size(), 297U);
  ASSERT_THAT(part->size(), testing::AllOf(testing::Ge(28U), testing::Le(30U)));
  for (std::size_t i = 1; i < part->size(); ++i)
    EXPECT_LT((*part)[i - 1].result, (*part)[i].result);
  EXPECT_GT(part->back().result, 290);
  EXPECT_EQ(reader_->Results(*study, 30)->back().result, part->back().result);
}

}  // namespace
}  // namespace sluice
