#include "sim/pipeline_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sluice {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

PipelineSpec Alike(int stages, int micro_batches, Duration forward, Duration backward) {
  PipelineSpec spec;
  spec.stages = stages;
  spec.micro_batches = micro_batches;
  spec.forward.assign(static_cast<std::size_t>(stages), forward);
  spec.backward.assign(static_cast<std::size_t>(stages), backward);
  return spec;
}

Duration EndOf(const PipelineSchedule& schedule, int stage, int batch, bool backward) {
  for (const PipelineSchedule::Pass& pass : schedule.passes(stage)) {
    if (pass.micro_batch == batch && pass.backward == backward) return pass.ends;
  }
  return Duration(-1);
}

TEST(PipelineJobTest, AlikeStagesGiveTheClosedForm) {
  for (const int p : {1, 2, 3, 4, 8, 16}) {
    for (const int m : {1, 2, 4, 7, 8, 32}) {
      const auto schedule = PipelineSchedule::Make(Alike(p, m, milliseconds(10), milliseconds(20)));
      ASSERT_TRUE(schedule);
      EXPECT_EQ(schedule->step(), milliseconds(30) * (m + p - 1)) << p << " " << m;
      EXPECT_NEAR(schedule->bubble_share(), static_cast<double>(p - 1) / (m + p - 1), 1e-12)
          << p << " " << m;
    }
  }
}

TEST(PipelineJobTest, TwoStagesByHand) {
  // Each pass, and each dot (idle), is 1 ms long:
  // stage 0: F0 F1 .  B0 F2 B1 .  B2
  // stage 1: .  F0 B0 F1 B1 F2 B2 .
  const auto schedule = *PipelineSchedule::Make(Alike(2, 3, milliseconds(1), milliseconds(1)));
  std::string first, second;
  for (const auto& pass : schedule.passes(0))
    first += (pass.backward ? "B" : "F") + std::to_string(pass.begins / milliseconds(1));
  for (const auto& pass : schedule.passes(1))
    second += (pass.backward ? "B" : "F") + std::to_string(pass.begins / milliseconds(1));
  EXPECT_EQ(first, "F0F1B3F4B5B7");
  EXPECT_EQ(second, "F1B2F3B4F5B6");
  EXPECT_EQ(schedule.step(), milliseconds(8));
  // Stage 1 is idle from 7 to 8 and from 0 to 1 of the next step: one window.
  const BubbleWindow& last = schedule.windows().back();
  EXPECT_EQ(last.stage, 1);
  EXPECT_EQ(last.opens, milliseconds(7));
  EXPECT_EQ(last.closes, milliseconds(9));
}

TEST(PipelineJobTest, NothingBeginsBeforeItsInputIsThere) {
  PipelineSpec spec = Alike(5, 9, milliseconds(3), milliseconds(7));
  spec.forward = {milliseconds(3), milliseconds(9), milliseconds(1), milliseconds(4),
                  milliseconds(2)};
  spec.backward[2] = milliseconds(20);
  spec.transfer = milliseconds(1);
  spec.update = milliseconds(5);
  const auto schedule = *PipelineSchedule::Make(spec);
  for (int stage = 0; stage < 5; ++stage) {
    Duration free_at(0);
    Duration busy(0);
    for (const auto& pass : schedule.passes(stage)) {
      EXPECT_GE(pass.begins, free_at);
      free_at = pass.ends;
      busy += pass.ends - pass.begins;
      if (!pass.backward && stage > 0) {
        EXPECT_GE(pass.begins, EndOf(schedule, stage - 1, pass.micro_batch, false) + spec.transfer);
      }
      if (pass.backward && stage < 4) {
        EXPECT_GE(pass.begins, EndOf(schedule, stage + 1, pass.micro_batch, true) + spec.transfer);
      }
      if (pass.backward && stage == 4) {
        EXPECT_GE(pass.begins, EndOf(schedule, stage, pass.micro_batch, false));
      }
    }
    Duration idle(0);
    for (const BubbleWindow& window : schedule.windows()) {
      if (window.stage == stage) idle += window.length();
    }
    EXPECT_EQ(busy + idle + spec.update, schedule.step()) << "a stage works, updates or is idle";
  }
}

TEST(PipelineJobTest, StageHoldsNoMoreThanItsShareOfActivations) {
  const auto schedule = *PipelineSchedule::Make(Alike(4, 12, milliseconds(1), milliseconds(2)));
  for (int stage = 0; stage < 4; ++stage) {
    int held = 0, most = 0;
    for (const auto& pass : schedule.passes(stage)) {
      held += pass.backward ? -1 : 1;
      most = std::max(most, held);
    }
    EXPECT_EQ(most, 4 - stage);
  }
}

TEST(PipelineJobTest, SaysWhichMemoryIsFree) {
  PipelineSpec spec = Alike(3, 4, milliseconds(1), milliseconds(1));
  spec.free_bytes = {100, 200};
  const auto schedule = *PipelineSchedule::Make(spec);
  for (const BubbleWindow& window : schedule.windows())
    EXPECT_EQ(window.free_bytes, window.stage == 0 ? 100 : 200);
}

TEST(PipelineJobTest, WhatAGuestCanUseOfTwoStagesByHand) {
  // Of a step of 8 ms, stage 0 is idle from 2 to 3 and from 6 to 7, stage 1 from 7 to 9.
  PipelineSpec spec = Alike(2, 3, milliseconds(1), milliseconds(1));
  spec.gate = microseconds(200);
  const auto schedule = *PipelineSchedule::Make(spec);
  EXPECT_DOUBLE_EQ(schedule.idle_share(0), 0.25);
  EXPECT_DOUBLE_EQ(schedule.idle_share(1), 0.25);
  // 0.8 ms hold two segments of 0.3 ms, 1.8 ms hold six.
  EXPECT_DOUBLE_EQ(schedule.usable_share(0, microseconds(300)), 2 * 0.6 / 8);
  EXPECT_DOUBLE_EQ(schedule.usable_share(1, microseconds(300)), 1.8 / 8);
  EXPECT_DOUBLE_EQ(schedule.usable_share(0, milliseconds(1)), 0) << "none would end in time";
  EXPECT_DOUBLE_EQ(schedule.usable_share(1, milliseconds(1)), 1.0 / 8);
  EXPECT_DOUBLE_EQ(schedule.usable_share(0, Duration(0)), 1.6 / 8) << "it can stop anywhere";

  spec.gate = milliseconds(1);
  const auto slow = *PipelineSchedule::Make(spec);
  EXPECT_DOUBLE_EQ(slow.idle_share(0), 0.25);
  EXPECT_DOUBLE_EQ(slow.usable_share(0, Duration(0)), 0) << "the gate opens when all is over";
  EXPECT_DOUBLE_EQ(slow.usable_share(1, Duration(0)), 1.0 / 8);
}

TEST(PipelineJobTest, StagesShareTheBubbles) {
  PipelineSpec spec = Alike(4, 16, microseconds(12'400), microseconds(24'800));
  spec.transfer = microseconds(500);
  const auto schedule = *PipelineSchedule::Make(spec);
  double idle = 0;
  for (int stage = 0; stage < 4; ++stage) {
    idle += schedule.idle_share(stage) / 4;
    EXPECT_LT(schedule.usable_share(stage, milliseconds(5)), schedule.idle_share(stage));
  }
  EXPECT_NEAR(idle, schedule.bubble_share(), 1e-12);
}

TEST(PipelineJobTest, RefusesWhatIsNoJob) {
  EXPECT_THAT(PipelineSchedule::Make({}).error().message, HasSubstr("stages"));
  PipelineSpec spec = Alike(2, 0, milliseconds(1), milliseconds(1));
  EXPECT_THAT(PipelineSchedule::Make(spec).error().message, HasSubstr("micro_batches"));
  spec.micro_batches = 2;
  spec.backward.pop_back();
  EXPECT_THAT(PipelineSchedule::Make(spec).error().message, HasSubstr("one for each of 2"));
  spec = Alike(2, 2, milliseconds(-1), milliseconds(1));
  EXPECT_THAT(PipelineSchedule::Make(spec).error().message, HasSubstr("forward"));
}

}  // namespace
}  // namespace sluice
