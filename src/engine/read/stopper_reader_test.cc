#include "engine/read/stopper_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/read/test_study_text.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

TEST(StopperReaderTest, ReadsStoppersWithTheirOptions) {
  const auto stopper = [](const std::string& text) {
    const auto study =
        ReadStudy(text +
                      "\nbudget: {max: 9}\nprogram: train\nobjective: {minimize: loss}\ntrials: "
                      "9\n" +
                      std::string(kSpace),
                  "study.yaml", "study");
    EXPECT_TRUE(study) << study.error().message;
    return study ? study->stopper : StopperSpec{};
  };
  EXPECT_EQ(stopper("stopper: median").startup, 5);
  const StopperSpec percentile =
      stopper("stopper: {name: percentile, percentile: 12.5, startup: 0, min_trials: 3}");
  EXPECT_EQ(percentile.name, "percentile");
  EXPECT_EQ(percentile.percentile, 12.5);
  EXPECT_EQ(percentile.startup, 0);
  EXPECT_EQ(percentile.min_trials, 3);
  const StopperSpec patience = stopper("stopper: {name: patience, patience: 4, min_delta: 1e-3}");
  EXPECT_EQ(patience.patience, 4);
  EXPECT_EQ(patience.min_delta, 1e-3);
  EXPECT_EQ(stopper("stopper: {name: sha, bracket: 12}").bracket, 12);
  EXPECT_EQ(With("stopper: {name: patience}"), "");  // this stopper needs no budget
}

TEST(StopperReaderTest, ChecksStoppersAndTheirOptions) {
  EXPECT_EQ(With("stopper: {percentile: 25}"),
            "study.yaml:1: stopper.name: expected a stopper, found nothing; add 'name: median'");
  EXPECT_EQ(With("stopper: {name: meidan}"),
            "study.yaml:1: stopper.name: expected one of none, asha, asha-promotion, "
            "asha-pausing, median, percentile, patience, sha, hyperband, pbt, pbt-async, found "
            "meidan (did you mean "
            "'median'?)");
  EXPECT_EQ(With("stopper: {name: percentile, precentile: 25}"),
            "study.yaml:1: stopper.precentile: unknown key (did you mean 'percentile'?)");
  EXPECT_EQ(With("stopper: {name: median, percentile: 25}"),
            "study.yaml:1: stopper.percentile: the stopper median does not take it; its options "
            "are startup, min_trials");
  EXPECT_EQ(With("stopper: {name: pbt, intervall: 2}\nbudget: {max: 9}"),
            "study.yaml:1: stopper.intervall: unknown key (did you mean 'interval'?)");
  EXPECT_EQ(With("stopper: {name: pbt, interval: 9}\nbudget: {max: 9}"),
            "study.yaml:1: stopper: interval: expected less than 9, the full budget, so that "
            "trials are judged before their end (leave it out for a tenth of that), found 9");
  EXPECT_EQ(With("stopper: {name: pbt-async, quantile: 0.6}\nbudget: {max: 9}"),
            "study.yaml:1: stopper.quantile: expected a number from 0 to 0.5, found 0.6");
  EXPECT_EQ(With("stopper: {name: asha, quantile: 0.2}\nbudget: {max: 9}"),
            "study.yaml:1: stopper.quantile: the stopper asha does not take it; it has no options");
  EXPECT_EQ(With("stopper: {name: hyperband, bracket: 25}\nbudget: {max: 9}"),
            "study.yaml:1: stopper.bracket: the stopper hyperband does not take it; it has no "
            "options");
  EXPECT_EQ(With("stopper: {name: percentile, percentile: 101}"),
            "study.yaml:1: stopper.percentile: expected a number from 0 to 100, found 101");
  EXPECT_EQ(With("stopper: {name: percentile, percentile: 0.0001}"),
            "study.yaml:1: stopper: percentile: expected 0 to 100 with at most three decimals, "
            "found 0.0001");
  EXPECT_EQ(With("stopper: {name: patience, patience: 0}"),
            "study.yaml:1: stopper.patience: expected a whole number from 1 to 1000000000000, "
            "found 0");
  EXPECT_EQ(With("stopper: {name: patience, min_delta: -1}"),
            "study.yaml:1: stopper.min_delta: expected a number of at least 0, found -1");
  EXPECT_EQ(With("stopper: {name: sha}"),
            "study.yaml:1: budget.max: expected the full budget of a trial, since the stopper sha "
            "needs it, found nothing; add 'budget: {max: 27}'");
  EXPECT_EQ(
      With("stopper: [median]"),
      "study.yaml:1: stopper: expected one of none, asha, asha-promotion, asha-pausing, median, "
      "percentile, patience, sha, hyperband, pbt, pbt-async, found [median]; write 'median' alone");
}

TEST(StopperReaderTest, AModelComparesTrialsWhereTheyAreJudgedOrAtTheRungsOfTheirBudget) {
  const auto levels = [](const std::string& lines) {
    const auto study = ReadStudy("program: train {args}\nobjective: {minimize: loss}\ntrials: 4\n" +
                                     std::string(kSpace) + lines,
                                 "study.yaml", "study");
    return study ? study->sampler.levels : std::vector<Work>{-1};
  };
  EXPECT_THAT(levels(""), testing::IsEmpty());
  EXPECT_THAT(levels("budget: {max: 30}\n"), ElementsAre(1, 3, 9, 27, 30));
  EXPECT_THAT(levels("budget: {min: 2, max: 32, eta: 4}\nstopper: none\n"), ElementsAre(2, 8, 32));
  EXPECT_THAT(levels("budget: {max: 10}\nstopper: {name: pbt, interval: 5}\n"), ElementsAre(5, 10));
}

}  // namespace
}  // namespace sluice
