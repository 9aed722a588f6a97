#include "sim/read/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

std::vector<Node> NodesOf(const std::vector<std::string>& kinds) {
  Node node{.name = "a", .cpus = kWhole, .devices = {}};
  for (const std::string& kind : kinds) node.devices.push_back({.uuid = "", .kind = kind});
  return {node};
}

WorkloadSpec Light() {
  WorkloadSpec work;
  work.seconds_per_unit = 10;
  work.busy = 0.3;
  work.busy_on = {{"A100", 0.3}, {"H100", 0.2001}};
  work.speeds["H100"] = 1.25;
  work.memory_bytes = 2'400'000'000;
  return work;
}

TEST(ProfileTest, SaysWhatATrialTakesOfEachKindThereIs) {
  StudySpec study;
  study.demand.gpus = kWhole;
  AddProfile(Light(), NodesOf({"H100", "A100", "A100"}), study);
  EXPECT_THAT(study.profile,
              ElementsAre(Field(&KindProfile::kind, "A100"), Field(&KindProfile::kind, "H100")));
  EXPECT_DOUBLE_EQ(study.profile[0].seconds_per_unit, 10);
  EXPECT_DOUBLE_EQ(study.profile[1].seconds_per_unit, 8);
  EXPECT_EQ(NeedOn(study.demand, "A100").gpus, 300);
  EXPECT_EQ(NeedOn(study.demand, "H100").gpus, 201) << "never less than it takes";
  EXPECT_EQ(NeedOn(study.demand, "A100").bandwidth, 0);
}

TEST(ProfileTest, BandwidthIsMeasuredToo) {
  StudySpec study;
  study.demand.gpus = kWhole;
  WorkloadSpec work = Light();
  work.bandwidth = 0.45;
  AddProfile(work, NodesOf({"A100"}), study);
  EXPECT_EQ(NeedOn(study.demand, "A100").bandwidth, 450);
}

TEST(ProfileTest, MemoryIsTakenOverWhereTheStudySaysNothing) {
  StudySpec study;
  study.demand.gpus = kWhole;
  AddProfile(Light(), NodesOf({"A100"}), study);
  EXPECT_EQ(study.demand.memory_bytes, 2'400'000'000);
  study.demand.memory_bytes = 4'000'000'000;
  AddProfile(Light(), NodesOf({"A100"}), study);
  EXPECT_EQ(study.demand.memory_bytes, 4'000'000'000);
}

}  // namespace
}  // namespace sluice
