// Which messages count, and that they count once. Messages may be of old launches, sent again, out
// of order, or about work that was reported before.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EngineAdmissionTest, AReportCountsOnce) {
  TestEngine t("trials: 1\n");
  t.Propose(1);
  const Reported report = t.MakeReport(1, 1, {{"loss", 0.5}});
  EXPECT_EQ(t.engine().Admit(report), Admission::kNew);
  t.Happen(report);
  EXPECT_EQ(t.engine().Admit(report), Admission::kSeen);
  t.Happen(report);
  EXPECT_EQ(t.Trial(1).reports, 1U);
}

TEST(EngineAdmissionTest, OutputAndMessagesAreCountedApart) {
  TestEngine t("trials: 1\n");
  t.Propose(1);
  Reported report = t.MakeReport(1, 1, {});
  report.position = {.seq = 0, .offset = 100};
  t.Happen(report);
  EXPECT_EQ(t.engine().Admit(t.Key(1), LaunchId(1), {.seq = 0, .offset = 100}), Admission::kSeen);
  EXPECT_EQ(t.engine().Admit(t.Key(1), LaunchId(1), {.seq = 0, .offset = 101}), Admission::kNew);
  EXPECT_EQ(t.engine().Admit(t.Key(1), LaunchId(1), {.seq = 1, .offset = 0}), Admission::kNew);
}

TEST(EngineAdmissionTest, AnOldLaunchIsRefused) {
  TestEngine t("trials: 1\n");
  t.Propose(1);
  t.Report(1, 1, 0.5);
  const Reported late = t.MakeReport(1, 2, {{"loss", 0.1}});
  const Reported again{.trial = t.Key(1),
                       .launch = LaunchId(1),
                       .position = {.seq = 1, .offset = 0},
                       .work = 1,
                       .metrics = {}};
  t.End(1, Ending::kLost);
  EXPECT_EQ(t.Trial(1).launch.id, LaunchId(2));
  EXPECT_EQ(t.engine().Admit(late), Admission::kStale);
  EXPECT_EQ(t.engine().Admit(again), Admission::kStale);
  EXPECT_THAT(t.Happen(late), IsEmpty());
  EXPECT_EQ(t.Trial(1).work, 1);
  EXPECT_EQ(t.engine().Admit(t.Key(2), LaunchId(1), {}), Admission::kStale);
  EXPECT_EQ(t.engine().Admit(t.Key(0), LaunchId(1), {}), Admission::kStale);
  EXPECT_EQ(t.engine().Admit({StudyId(9), TrialId(1)}, LaunchId(1), {}), Admission::kStale);
  EXPECT_THAT(t.Happen(LaunchEnded{.trial = t.Key(1),
                                   .launch = LaunchId(1),
                                   .position = {},
                                   .ending = Ending::kDone,
                                   .reason = "",
                                   .checkpoint_bytes = -1}),
              IsEmpty());
  EXPECT_THAT(t.Happen(LeaseExpired{t.Key(1), LaunchId(1)}), IsEmpty());
}

TEST(EngineAdmissionTest, AnEndedLaunchIsHeardOnlyForWhatItSaidBefore) {
  TestEngine t("trials: 1\n");
  t.Propose(1);
  t.Report(1, 1, 0.5);
  t.End(1);
  EXPECT_EQ(t.engine().Admit(t.Key(1), LaunchId(1), {.seq = 1, .offset = 0}), Admission::kSeen);
  EXPECT_EQ(t.engine().Admit(t.Key(1), LaunchId(1), {.seq = 2, .offset = 0}), Admission::kStale);
}

TEST(EngineAdmissionTest, WorkRisesWithinALaunchAndIsRepeatedByTheNext) {
  TestEngine t("trials: 1\nretries: 1\nbackoff: 0s\ntimeouts: {report: 10s}\n");
  t.Propose(1);
  t.Report(1, 5, 0.5);
  EXPECT_EQ(t.engine().Admit(t.MakeReport(1, 5, {})), Admission::kBackwards);
  EXPECT_EQ(t.engine().Admit(t.MakeReport(1, 4, {})), Admission::kBackwards);
  EXPECT_EQ(t.engine().Admit(t.MakeReport(1, 6, {})), Admission::kNew);
  t.End(1, Ending::kFailed, "no");

  EXPECT_EQ(t.Trial(1).launch.id, LaunchId(2));
  EXPECT_EQ(t.engine().Admit(t.MakeReport(1, 3, {})), Admission::kRetrained);
  EXPECT_EQ(t.engine().Admit(t.MakeReport(1, 5, {})), Admission::kRetrained);
  EXPECT_EQ(t.engine().Admit(t.MakeReport(1, 6, {})), Admission::kNew);
  t.now = 9;
  t.Happen(LaunchHeard{t.Key(1), LaunchId(2), t.Next(1)});
  EXPECT_EQ(t.Trial(1).reports, 1U);
  t.now = 10;
  EXPECT_THAT(t.Wake(), ElementsAre("wake 19"));  // repeating earlier work is a sign of life
  t.Happen(t.MakeReport(1, 4, {{"loss", 0.0}}));  // not admissible: changes nothing
  EXPECT_EQ(t.Trial(1).work, 5);
  EXPECT_EQ(t.Trial(1).result, 0.5);
  t.Report(1, 6, 0.4);
  EXPECT_EQ(t.Trial(1).work, 6);
}

TEST(EngineAdmissionTest, AClockThatIsSetBackDoesNotMoveTime) {
  TestEngine t("trials: 1\ntimeouts: {trial: 10s}\n");
  t.now = 1000;
  t.Propose(1);
  t.now = 5;
  t.Report(1, 1, 0.5);
  t.Wake();
  t.End(1);
  EXPECT_EQ(t.Trial(1).busy.count(), 0);
  EXPECT_EQ(t.Trial(1).ended, At(1000));
}

}  // namespace
}  // namespace sluice
