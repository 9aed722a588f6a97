#include "ledger/optuna/optuna_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_numbers.h"
#include "ledger/optuna/optuna_study_file.h"
#include "ledger/reader.h"
#include "ledger/recovery.h"
#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

OptunaTrial TrialOf(OptunaState state, double x, double started, double ended) {
  return {.state = state,
          .params = {{"x", x}},
          .value = state == OptunaState::kComplete ? std::optional(x) : std::nullopt,
          .started = At(started),
          .ended = At(ended)};
}

OptunaStudy StudyOf(std::vector<OptunaTrial> trials) {
  return {.name = "theirs",
          .direction = Direction::kMinimize,
          .metric = "loss",
          .parameters = {{.name = "x", .low = 0, .high = 9}},
          .trials = std::move(trials)};
}

class OptunaImportTest : public ::testing::Test {
 protected:
  Result<ImportedStudy> Import(OptunaStudy study, const std::string& name = "ours") {
    return ImportOptunaStudy(
        *ledger_, {.study = std::move(study), .name = name, .folder = "/", .now = At(1000)});
  }

  std::vector<TrialInfo> Trials() {
    reader_ = std::move(*Reader::Open(folder_ / "s.db"));
    study_ = *reader_->FindStudy("ours");
    return *reader_->Trials(study_.id);
  }

  std::vector<std::string> Reports() {
    std::vector<std::string> lines;
    (void)reader_->EachReport(study_.id, std::nullopt, [&](const ReportInfo& report) {
      lines.push_back(fmt::format("{} {} {}", Number(report.trial), report.work, report.metrics));
    });
    return lines;
  }

  TestFolder folder_;
  std::unique_ptr<Ledger> ledger_ = OpenLedger(folder_ / "s.db");
  std::unique_ptr<Reader> reader_;
  StudyInfo study_;
};

TEST_F(OptunaImportTest, TrialsThatOverlappedKeepTheirTimes) {
  ASSERT_TRUE(Import(StudyOf(
      {TrialOf(OptunaState::kComplete, 3, 10, 40), TrialOf(OptunaState::kPruned, 4, 20, 30),
       TrialOf(OptunaState::kFail, 5, 25, 50), TrialOf(OptunaState::kComplete, 1, 50, 60)})));
  const auto trials = Trials();
  ASSERT_EQ(trials.size(), 4U);
  const std::vector<std::pair<double, double>> times = {{10, 40}, {20, 30}, {25, 50}, {50, 60}};
  const std::vector<TrialState> states = {TrialState::kComplete, TrialState::kStopped,
                                          TrialState::kFailed, TrialState::kComplete};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(trials[i].started, At(times[i].first)) << i;
    EXPECT_EQ(trials[i].ended, At(times[i].second)) << i;
    EXPECT_EQ(trials[i].state, states[i]) << i;
  }
  EXPECT_TRUE(study_.finished);
  EXPECT_EQ(study_.ending, "all trials done");
  EXPECT_EQ(study_.created, At(10));
  EXPECT_EQ(study_.updated, At(1000));
  EXPECT_EQ(Number(study_.best), 4U);
  const auto quick = RecoverEngine(reader_->database(), study_.id);
  const auto slow = RecoverEngine(reader_->database(), study_.id, Recover::kFromEvents);
  ASSERT_TRUE(quick && slow);
  EXPECT_EQ((*quick)->Digest(), (*slow)->Digest());
}

TEST_F(OptunaImportTest, ClocksThatDisagree) {
  // By its own clock, the second trial began before the first. The third trial ends in the future.
  // The fourth trial has no times.
  OptunaTrial silent = TrialOf(OptunaState::kComplete, 4, 0, 0);
  silent.started = silent.ended = std::nullopt;
  ASSERT_TRUE(Import(StudyOf({TrialOf(OptunaState::kComplete, 1, 30, 20),
                              TrialOf(OptunaState::kComplete, 2, 10, 15),
                              TrialOf(OptunaState::kComplete, 3, 35, 5000), silent})));
  const auto trials = Trials();
  EXPECT_EQ(trials[0].ended, At(30));
  EXPECT_EQ(trials[1].started, At(30));
  EXPECT_EQ(trials[2].ended, At(1000));
  EXPECT_EQ(trials[3].started, At(35));
  for (const TrialInfo& trial : trials) EXPECT_EQ(trial.state, TrialState::kComplete);
}

TEST_F(OptunaImportTest, MoreTrialsAtOnceThanTheLimitAreImported) {
  std::vector<OptunaTrial> trials;
  for (int i = 0; i < 600; ++i)
    trials.push_back(TrialOf(OptunaState::kComplete, i / 100.0, 10, 500 + i % 7));
  ASSERT_TRUE(Import(StudyOf(trials)));
  const auto written = Trials();
  ASSERT_EQ(written.size(), 600U);
  for (const TrialInfo& trial : written) EXPECT_EQ(trial.state, TrialState::kComplete);
  EXPECT_TRUE(study_.finished);
}

TEST_F(OptunaImportTest, AnIntermediateValueThatIsTheResultIsNotReportedTwice) {
  OptunaTrial trial = TrialOf(OptunaState::kComplete, 1, 1, 2);
  trial.intermediate = {{1, 3.0}, {2, kNan}, {4, 1.0}, {5, 2.0}};
  ASSERT_TRUE(Import(StudyOf({trial})));
  const auto trials = Trials();
  EXPECT_THAT(Reports(), ElementsAre(R"(1 1 {"loss":3.0})", R"(1 2 {"loss":"NaN"})",
                                     R"(1 4 {"loss":1.0})", R"(1 5 {"loss":2.0})"));
  EXPECT_EQ(trials[0].result, 1);
  EXPECT_EQ(trials[0].result_work, 4);
  EXPECT_EQ(trials[0].value, 2);
}

TEST_F(OptunaImportTest, StepsFromZeroAreWorkFromOne) {
  OptunaTrial first = TrialOf(OptunaState::kComplete, 1, 1, 2);
  first.intermediate = {{0, 3.0}, {1, 2.0}};
  OptunaTrial second = TrialOf(OptunaState::kPruned, 1, 3, 4);
  second.intermediate = {{2, 5.0}};
  ASSERT_TRUE(Import(StudyOf({first, second})));
  const auto trials = Trials();
  EXPECT_THAT(Reports(), ElementsAre(R"(1 1 {"loss":3.0})", R"(1 2 {"loss":2.0})",
                                     R"(1 3 {"loss":1.0})", R"(2 3 {"loss":5.0})"));
  EXPECT_EQ(trials[1].result, 5);
}

TEST_F(OptunaImportTest, NamesThatAStudyFileDoesNotAllow) {
  OptunaStudy study = StudyOf({TrialOf(OptunaState::kComplete, 1, 1, 2)});
  study.trials[0].params = {{"a b", 1.0}, {"a/b", 2.0},   {"args", 3.0},
                            {"1", 4.0},   {"\n\"}", 5.0}, {"\xff", 6.0}};
  study.parameters.clear();
  for (const auto& [name, value] : study.trials[0].params)
    study.parameters.push_back({.name = name, .low = 0, .high = 9});
  study.metric = "step";
  const auto imported = Import(study);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_THAT(imported->renamed,
              ElementsAre(Pair("\n\"}", "___"), Pair("1", "_"), Pair("a b", "a_b"),
                          Pair("a/b", "a_b_2"), Pair("args", "args_2"), Pair("\xff", "__2")));
  EXPECT_EQ(Trials()[0].params,
            R"({"___":5.0,"_":4.0,"a_b":1.0,"a_b_2":2.0,"args_2":3.0,"__2":6.0})");
  EXPECT_EQ(study_.metric, "value");
}

TEST_F(OptunaImportTest, ChoicesOfEveryKind) {
  OptunaStudy study = StudyOf({TrialOf(OptunaState::kComplete, 1, 1, 2)});
  study.parameters = {{.name = "c",
                       .kind = ParameterKind::kCategorical,
                       .choices = {std::string("yes"), std::string("it's: \"{x}\" #\n\t\x01é"),
                                   true, std::int64_t{1}, -1e-300, std::string("")}}};
  for (const Choice& choice : study.parameters[0].choices) {
    study.trials.push_back(study.trials[0]);
    study.trials.back().params = {{"c", choice}};
  }
  study.trials.erase(study.trials.begin());
  const auto imported = Import(study);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(Trials()[1].params, R"({"c":"it's: \"{x}\" #\n\t\u0001é"})");
  EXPECT_EQ(Trials()[4].params, R"({"c":-1e-300})");
}

TEST_F(OptunaImportTest, WhatAStudyFileCannotSayIsRefused) {
  OptunaStudy study = StudyOf({TrialOf(OptunaState::kComplete, 1, 1, 2)});
  study.parameters[0] = {.name = "x",
                         .kind = ParameterKind::kCategorical,
                         .choices = {std::int64_t{1}, std::string("1")}};
  EXPECT_THAT(Import(study).error().message,
              HasSubstr("study 'theirs' does not fit into a study file:\n"));
  study.parameters.clear();
  EXPECT_THAT(Import(study).error().message,
              HasSubstr("expected a trial with parameters, found none among its 1 trials"));
  study = StudyOf({TrialOf(OptunaState::kComplete, 99, 1, 2)});
  EXPECT_THAT(Import(study).error().message, HasSubstr("trial 0: x: 99 is not in its range"));
  EXPECT_EQ(Number(ledger_->last()), 0U) << "nothing was written";
}

TEST_F(OptunaImportTest, ATakenNameIsRefused) {
  const OptunaStudy study = StudyOf({TrialOf(OptunaState::kComplete, 1, 1, 2)});
  ASSERT_TRUE(Import(study));
  EXPECT_THAT(Import(study).error().message, HasSubstr("a study 'ours' is in"));
  EXPECT_TRUE(Import(study, "other"));
}

TEST(OptunaStudyFile, HasNoProgram) {
  const auto file = MakeStudyFile(StudyOf({TrialOf(OptunaState::kComplete, 1, 1, 2)}), "ours");
  ASSERT_TRUE(file);
  const Status status = CheckHasProgram(file->spec);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(status.error().message, HasSubstr("study 'ours' was imported from Optuna"));
  EXPECT_TRUE(CheckHasProgram(SpecOf("trials: 1")));
}

}  // namespace
}  // namespace sluice
