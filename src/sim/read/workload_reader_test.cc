#include "sim/read/workload_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/read/test_scenario_text.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(WorkloadReaderTest, ReadsWhatTrialsDoToDevices) {
  const Scenario scenario = Good(Working(
      "busy: {A100: 0.4, V100: 0.7}, bandwidth: 0.25, fusion: [[1, 1], [8, 4]], segment: 2ms, "
      "memory: 2GB",
      "{gpus: 1, memory: 3GB}\n    fuse: {most: 8, memory: 500MB}"));
  const WorkloadSpec& work = scenario.studies[0].workload;
  EXPECT_DOUBLE_EQ(work.busy, 0.4);
  EXPECT_DOUBLE_EQ(TrueSpeed(work).Busy("V100", 1), 0.7);
  EXPECT_DOUBLE_EQ(work.bandwidth, 0.25);
  EXPECT_DOUBLE_EQ(work.fusion.At(8), 4);
  EXPECT_EQ(work.segment, std::chrono::milliseconds(2));
  EXPECT_EQ(work.fused_bytes, 500'000'000);
  EXPECT_FALSE(work.profiled);
  EXPECT_THAT(scenario.studies[0].spec.profile, IsEmpty());
  EXPECT_DOUBLE_EQ(Good(Working("fusion: hydro")).studies[0].workload.fusion.At(10), 6.5);
}

TEST(WorkloadReaderTest, ChecksWhatTrialsDoToDevices) {
  EXPECT_THAT(Bad(Working("busy: {H100: 0.4}")),
              HasSubstr("workload.busy: expected a part of A100 too, the kind of unit_time"));
  EXPECT_THAT(Bad(Working("busy: {A10: 0.4, A100: 0.2}")), HasSubstr("did you mean 'A100'?"));
  EXPECT_THAT(Bad(Working("busy: {A100: 0}")),
              HasSubstr("workload.busy.A100: expected a number from 0.001 to 1, found 0"));
  EXPECT_THAT(Bad(Working("busy: {A100: 0.4}", "{cpus: 1}")),
              HasSubstr("workload.busy: expected one part of the cores, since the trials use no"));
  EXPECT_THAT(Bad(Working("bandwidth: 2")),
              HasSubstr("workload.bandwidth: expected a number from"));
  EXPECT_THAT(Bad(Working("segment: long")), HasSubstr("workload.segment: expected a duration"));
  EXPECT_THAT(Bad(Working("fusion: hydra")), HasSubstr("did you mean 'hydro'?"));
  EXPECT_THAT(Bad(Working("fusion: [[2, 2]]")),
              HasSubstr("workload.fusion: expected a first point of [1, 1], found [[2, 2]]; "
                        "speed-ups are beside one trial"));
  EXPECT_THAT(
      Bad(Working("fusion: [3]")),
      HasSubstr("expected a number of trials and their speed-up, as in [10, 6.5], found 3"));
  EXPECT_THAT(Bad(Working("fusion: [[1, 1], [8, 0.5]]")), HasSubstr("never falls"));
  EXPECT_THAT(Bad(Working("profiled: perhaps")), HasSubstr("workload.profiled: expected true or"));
  for (const char* resources : {"{cpus: 1}", "{gpus: 2}", "{gpus: [1, 4]}"}) {
    EXPECT_THAT(
        Bad(Working("profiled: true", resources)),
        HasSubstr("workload.profiled: expected this key only for trials on one GPU or a share of "
                  "it, found true; remove the key"))
        << resources;
  }
}

}  // namespace
}  // namespace sluice
