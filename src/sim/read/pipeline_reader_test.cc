#include "sim/read/pipeline_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/read/test_scenario_text.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(PipelineReaderTest, DevicesThatAPipelineJobLendsAreANodeOfTheirOwn) {
  const Scenario scenario = Good(Working("memory: 1GB", "{gpus: 1}", kLending));
  ASSERT_EQ(scenario.nodes.size(), 2);
  const Node& lent = scenario.nodes[1];
  EXPECT_EQ(lent.name, "gpt");
  EXPECT_EQ(lent.cpus, 6 * kWhole);
  ASSERT_EQ(lent.devices.size(), 3);
  // A job lends one device of each stage, then those of its next replica. Here these are two
  // devices of stage 0 and one of stage 1. Each is idle for 2 ms of 8.
  EXPECT_EQ(lent.devices[0].memory_bytes, 10'000'000'000);
  EXPECT_EQ(lent.devices[1].memory_bytes, 20'000'000'000);
  EXPECT_EQ(lent.devices[2].memory_bytes, 10'000'000'000);
  EXPECT_FALSE(scenario.nodes[0].devices[0].IsLent());
  for (const Device& device : lent.devices) EXPECT_EQ(device.open, 250);
  ASSERT_EQ(scenario.lenders.size(), 3);
  EXPECT_EQ(scenario.lenders.at(lent.devices[1].uuid).stage, 1);
  EXPECT_EQ(scenario.pipeline_jobs[0].spec().gate, std::chrono::microseconds(500));
}

TEST(PipelineReaderTest, ChecksWhatAPipelineJobLends) {
  const auto lending = [](std::string_view keys) {
    return Bad(
        Working("memory: 1GB", "{gpus: 1}",
                "pipeline_jobs: [{stages: 2, micro_batches: 3, forward: 1ms, backward: 1ms, " +
                    std::string(keys) + "}]\n"));
  };
  EXPECT_THAT(
      lending("lends: 3"),
      StartsWith("s.yaml:2: pipeline_jobs[0].lends: expected at most its 2 devices, a stage "
                 "each, found 3; add 'replicas: 8' if it has more"));
  EXPECT_THAT(lending("lends: -1"), HasSubstr("pipeline_jobs[0].lends: expected a whole number"));
  EXPECT_THAT(lending("replicas: 0"), HasSubstr("pipeline_jobs[0].replicas: expected a whole"));
  EXPECT_THAT(lending("cpus: -2"), HasSubstr("pipeline_jobs[0].cpus: expected a number from 0"));
  EXPECT_THAT(lending("gate: -1ms"), HasSubstr("pipeline_jobs[0].gate: expected a duration"));
  EXPECT_THAT(lending("replicas: 10000, lends: 10000"), HasSubstr("at most 10000 devices in all"));
  EXPECT_THAT(lending("free_memory: 100GB"), HasSubstr("at most what the A100 has"));
  EXPECT_THAT(lending("lend: 1"), HasSubstr("did you mean 'lends'?"));
}

TEST(PipelineReaderTest, PipelineJobsHaveNamesOfTheirOwn) {
  const std::string job = "{name: gpt, stages: 1, micro_batches: 1, forward: 1ms, backward: 1ms}";
  EXPECT_THAT(
      Bad(Working("memory: 1GB", "{gpus: 1}", "pipeline_jobs: [" + job + ", " + job + "]\n")),
      StartsWith("s.yaml:2: pipeline_jobs[1]: expected a name that no other job or node "
                 "has, found 'gpt'"));
}

}  // namespace
}  // namespace sluice
