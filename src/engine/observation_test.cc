#include "engine/observation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsNan;

Observation Told(TestEngine& t, std::uint32_t trial) {
  return ObservationOf(t.Study().spec, t.Trial(trial));
}

TEST(ObservationTest, ATrialSaysWhatItHadAtEachLevel) {
  TestEngine t("objective: {maximize: acc}\nstopper: asha\nbudget: {max: 27}\ntrials: 1\n");
  t.Propose(1);
  EXPECT_THAT(Told(t, 1).by_level, IsEmpty());
  t.Report(1, 1, Metrics{{"acc", 0.5}});
  t.Report(1, 2, Metrics{{"acc", 0.7}});
  EXPECT_THAT(Told(t, 1).by_level, ElementsAre(-0.5));
  t.Report(1, 3, Metrics{{"acc", 0.6}});
  EXPECT_THAT(Told(t, 1).by_level, ElementsAre(-0.5, -0.7)) << "the best of its reports counts";
  t.Report(1, 30, Metrics{{"acc", 0.9}});
  EXPECT_THAT(Told(t, 1).by_level, ElementsAre(-0.5, -0.7, -0.9, -0.9));
  EXPECT_EQ(Told(t, 1).value, -0.9);
  t.End(1);
  EXPECT_EQ(Told(t, 1).outcome, Outcome::kComplete);
}

TEST(ObservationTest, IfTheLastReportCountsALevelHasItsLastReport) {
  TestEngine t(
      "objective: {minimize: loss, of: last}\nstopper: median\nbudget: {max: 9}\n"
      "trials: 1\n");
  t.Propose(1);
  t.Report(1, 1, std::numeric_limits<double>::quiet_NaN());
  t.Report(1, 2, 0.1);
  t.Report(1, 3, 0.4);
  EXPECT_THAT(Told(t, 1).by_level, ElementsAre(IsNan(), 0.4));
}

TEST(ObservationTest, ATrialThatItsStopperHoldsIsPaused) {
  TestEngine t("stopper: asha-promotion\nbudget: {max: 9}\ntrials: 4\nparallelism: 1\n");
  t.Propose(1);
  t.Report(1, 1, 0.5);
  t.Save(1, 1, 10);
  t.End(1, Ending::kPaused);
  EXPECT_EQ(t.State(1), TrialState::kPaused);
  EXPECT_EQ(Told(t, 1).outcome, Outcome::kPaused);
}

}  // namespace
}  // namespace sluice
