// How trials are written that are in a state which no trial of a finished study has. The rest is
// tested with Optuna itself (tests/e2e/test_optuna.py).

#include "ledger/optuna/optuna_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/test_numbers.h"
#include "ledger/optuna/optuna_reader.h"
#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class OptunaWriterTest : public ::testing::Test {
 protected:
  OptunaStudy Written(const TestEngine& test) {
    WriteHistory(test, *OpenLedger(folder_ / "s.db"));
    const auto reader = Reader::Open(folder_ / "s.db");
    const auto info = (*reader)->FindStudy("test");
    const auto rows = WriteOptunaStudy(**reader, *info, folder_ / "o.db");
    SLUICE_CHECK(rows.has_value(), rows ? "" : rows.error().message.c_str());
    auto study = ReadOptunaStudy(folder_ / "o.db", "test");
    SLUICE_CHECK(study.has_value(), study ? "" : study.error().message.c_str());
    return *std::move(study);
  }

  TestFolder folder_;
};

TEST_F(OptunaWriterTest, EveryState) {
  TestEngine test(
      "trials: 9\nretries: 0\nbudget: {max: 9}\nstopper: asha-promotion\nobjective: {maximize: "
      "score}\n",
      NodeOf(6 * kWhole));
  test.Propose(6);
  test.now = 1.5;
  test.Report(1, 1, Metrics{{"score", 0.5}});  // promoted or paused
  test.Report(2, 1, Metrics{{"score", 0.25}, {"other", 1}});
  test.Report(3, 9, Metrics{{"score", kInfinity}});
  test.Report(4, 9, Metrics{{"score", kNan}});
  test.now = 2;
  test.End(2, Ending::kPaused);
  test.End(3);
  test.End(4);
  test.End(5, Ending::kFailed, "no");
  test.End(6, Ending::kLost);
  test.Drain();
  ASSERT_EQ(test.State(2), TrialState::kPaused);
  ASSERT_EQ(test.State(4), TrialState::kComplete);
  const OptunaStudy study = Written(test);
  EXPECT_EQ(study.direction, Direction::kMaximize);
  EXPECT_EQ(study.metric, "score");
  const auto& trials = study.trials;
  EXPECT_EQ(trials[1].state, OptunaState::kPruned);
  EXPECT_EQ(trials[1].value, 0.25);
  EXPECT_THAT(trials[1].intermediate, ElementsAre(Pair(1, 0.25)));
  EXPECT_EQ(trials[1].attributes, R"({"metrics":{"score":0.25,"other":1.0}})");
  EXPECT_EQ(trials[1].started, At(0));
  EXPECT_EQ(trials[1].ended, At(2));
  EXPECT_EQ(trials[2].state, OptunaState::kComplete);
  EXPECT_EQ(trials[2].value, kInfinity);
  EXPECT_EQ(trials[3].state, OptunaState::kFail) << "Optuna has no complete trial without a value";
  EXPECT_EQ(trials[3].value, std::nullopt);
  EXPECT_TRUE(std::isnan(trials[3].intermediate.at(0).second));
  EXPECT_EQ(trials[4].state, OptunaState::kFail);
  EXPECT_EQ(trials[4].attributes, R"({"note":"no"})");
}

TEST_F(OptunaWriterTest, RunningAndWaiting) {
  TestEngine test("trials: 9\nparallelism: 2\n", NodeOf(2 * kWhole));
  test.Propose(0, 0.25);
  test.Propose(1, 0.5);
  test.Report(1, 1, 3);
  test.Report(2, 1, 4);
  test.now = 1;
  test.Drain();
  test.End(2, Ending::kPaused);
  ASSERT_EQ(test.State(1), TrialState::kRunning);
  ASSERT_EQ(test.State(2), TrialState::kWaiting);
  const OptunaStudy study = Written(test);
  EXPECT_EQ(study.trials[0].state, OptunaState::kRunning);
  EXPECT_THAT(study.trials[0].intermediate, ElementsAre(Pair(1, 3.0)));
  EXPECT_EQ(study.trials[0].value, std::nullopt);
  EXPECT_EQ(study.trials[0].ended, std::nullopt);
  EXPECT_EQ(study.trials[1].state, OptunaState::kWaiting);
  EXPECT_THAT(study.trials[1].intermediate, IsEmpty());
  EXPECT_THAT(study.trials[1].params, ElementsAre(Pair("lr", Value(0.5))));
}

}  // namespace
}  // namespace sluice
