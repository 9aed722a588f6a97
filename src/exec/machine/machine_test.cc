#include "exec/machine/machine.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <optional>
#include <string>
#include <string_view>

#include "exec/machine/limits.h"
#include "exec/machine/nvml.h"

namespace sluice {

namespace {

using testing::HasSubstr;

GpuList ThreeGpus() {
  GpuList list;
  list.driver = "570.1";
  list.devices = {
      {"GPU-aaaa1111", "H200", 1}, {"GPU-aabb2222", "H200", 1}, {"GPU-cccc3333", "L4", 1}};
  return list;
}

std::string Seen(std::string_view variable) {
  std::string seen;
  for (const Device& device : VisibleGpus(ThreeGpus(), variable).devices)
    seen += device.uuid.substr(4, 4) + " ";
  return seen;
}

TEST(VisibleGpusTest, AllWithoutTheVariable) {
  const GpuList list = VisibleGpus(ThreeGpus(), std::nullopt);
  EXPECT_EQ(list.devices.size(), 3);
  EXPECT_EQ(list.note, "");
}

TEST(VisibleGpusTest, NumbersInTheOrderGiven) {
  EXPECT_EQ(Seen("0"), "aaaa ");
  EXPECT_EQ(Seen("2,0"), "cccc aaaa ");
  EXPECT_EQ(Seen(" 1 , 2 "), "aabb cccc ");
  EXPECT_EQ(Seen("0,1,2"), "aaaa aabb cccc ");
}

TEST(VisibleGpusTest, UuidsAndTheirBeginnings) {
  EXPECT_EQ(Seen("GPU-cccc3333"), "cccc ");
  EXPECT_EQ(Seen("GPU-c,0"), "cccc aaaa ");
  EXPECT_EQ(Seen("GPU-aab"), "aabb ");
  EXPECT_EQ(Seen("GPU-aa"), "") << "two begin so";
  EXPECT_EQ(Seen("GPU-f"), "");
}

TEST(VisibleGpusTest, WhatFollowsAnUnknownEntryIsHidden) {
  EXPECT_EQ(Seen("0,7,1"), "aaaa ");
  EXPECT_EQ(Seen("1,-1,0"), "aabb ");
  EXPECT_EQ(Seen("0,,1"), "aaaa ");
  EXPECT_EQ(Seen("0,1x"), "aaaa ");
  EXPECT_EQ(Seen("0,MIG-1"), "aaaa ");
}

TEST(VisibleGpusTest, NoneAtAll) {
  for (const char* variable : {"", "-1", "none", "NoDevFiles", ","})
    EXPECT_EQ(Seen(variable), "") << variable;
  EXPECT_EQ(VisibleGpus(ThreeGpus(), "-1").note, "CUDA_VISIBLE_DEVICES='-1' hides 3 of 3 GPUs");
  EXPECT_EQ(VisibleGpus(ThreeGpus(), "-1").driver, "570.1");
}

TEST(VisibleGpusTest, ADeviceNamedTwiceCountsOnce) { EXPECT_EQ(Seen("1,1,GPU-aabb"), "aabb "); }

TEST(VisibleGpusTest, TheReasonForNoGpuStays) {
  GpuList none;
  none.note = "no driver";
  EXPECT_EQ(VisibleGpus(none, "0").note, "no driver");
}

TEST(ListGpusTest, AMissingLibraryIsAPlainNote) {
  const GpuList list = ListGpus("libsluice-has-no-such.so.1");
  EXPECT_TRUE(list.devices.empty());
  EXPECT_EQ(list.driver, "");
  EXPECT_THAT(list.note, HasSubstr("no NVIDIA driver on this machine"));
}

TEST(ListGpusTest, AnotherLibraryIsAPlainNote) {
  const GpuList list = ListGpus("libc.so.6");
  EXPECT_TRUE(list.devices.empty());
  EXPECT_THAT(list.note, HasSubstr("too old"));
}

TEST(DeviceKindTest, GoesWithoutTheMaker) {
  EXPECT_EQ(DeviceKind("NVIDIA H200"), "H200");
  EXPECT_EQ(DeviceKind("Tesla V100-SXM2-32GB"), "Tesla V100-SXM2-32GB");
}

constexpr std::string_view kVersion1 =
    "12:cpu,cpuacct:/docker/abc\n4:memory:/docker/mem\n3:cpuset:/\n1:name=systemd:/x\n0::/"
    "system.slice/y\n";

TEST(CgroupTest, FindsTheFolderOfAController) {
  EXPECT_EQ(CgroupPath(kVersion1, "cpu"), "/docker/abc");
  EXPECT_EQ(CgroupPath(kVersion1, "memory"), "/docker/mem");
  EXPECT_EQ(CgroupPath(kVersion1, ""), "/system.slice/y");
  EXPECT_EQ(CgroupPath("0::/a:b\n", ""), "/a:b");
  EXPECT_EQ(CgroupPath("0::/a", ""), "/a");
  EXPECT_EQ(CgroupPath("0::/\n", "cpu"), std::nullopt);
  EXPECT_EQ(CgroupPath("", ""), std::nullopt);
  EXPECT_EQ(CgroupPath("nonsense\n1:\n", "cpu"), std::nullopt);
}

TEST(CgroupTest, ReadsProcessorLimits) {
  EXPECT_EQ(CpuMax("150000 100000\n"), 1500);
  EXPECT_EQ(CpuMax("max 100000\n"), std::nullopt);
  EXPECT_EQ(CpuMax(""), std::nullopt);
  EXPECT_EQ(CpuMax("1 100000"), 1) << "a limit is at least one thousandth";
  EXPECT_EQ(CpuQuota("-1\n", "100000\n"), std::nullopt);
  EXPECT_EQ(CpuQuota("50000\n", "100000\n"), 500);
  EXPECT_EQ(CpuQuota("50000\n", "0\n"), std::nullopt);
}

TEST(CgroupTest, ReadsMemoryLimits) {
  EXPECT_EQ(MemoryMax("1073741824\n"), 1 << 30);
  EXPECT_EQ(MemoryMax("max\n"), std::nullopt);
  EXPECT_EQ(MemoryMax("9223372036854771712\n"), std::nullopt);
  EXPECT_EQ(MemoryMax(""), std::nullopt);
}

TEST(MemoryTotalTest, ReadsMeminfo) {
  EXPECT_EQ(MemoryTotal("MemTotal:       16315428 kB\nMemFree: 1 kB\n"), 16315428LL * 1024);
  EXPECT_EQ(MemoryTotal("MemFree: 1 kB\n"), 0);
}

TEST(InspectMachineTest, ThisMachineHasSomethingToOffer) {
  const Machine machine = InspectMachine();
  EXPECT_FALSE(machine.node.name.empty());
  EXPECT_GT(machine.node.cpus, 0);
  EXPECT_GT(machine.memory_bytes, 1 << 20);
  EXPECT_TRUE(!machine.node.devices.empty() || !machine.gpu_note.empty())
      << "if there is no GPU, the note says why";
}

TEST(InspectMachineTest, OneProcessorWhereOnlyOneIsAllowed) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_LE(InspectMachine().node.cpus, kWhole);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace sluice
