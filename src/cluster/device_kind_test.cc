#include "cluster/device_kind.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(DeviceKindTest, LightJobsGainWhatHyperSackMeasured) {
  EXPECT_NEAR(RelativeSpeed("H100", "A100", 0), 79.0 / 64.0, 0.01);
  EXPECT_NEAR(RelativeSpeed("A100", "H100", 0.37), 64.0 / 79.0, 0.01);
}

TEST(DeviceKindTest, JobsThatFillADeviceGainMore) {
  EXPECT_NEAR(RelativeSpeed("A100", "V100", 1), 2470.0 / 1200.0, 0.01);
  EXPECT_GT(RelativeSpeed("H200", "A100", 1), RelativeSpeed("H200", "A100", 0.6));
  for (std::size_t i = 1; i < DeviceKinds().size(); ++i) {
    EXPECT_GT(DeviceKinds()[i].heavy_speed, DeviceKinds()[i - 1].heavy_speed);
    EXPECT_GT(DeviceKinds()[i].light_speed, DeviceKinds()[i - 1].light_speed);
    EXPECT_GT(DeviceKinds()[i].memory_bytes, DeviceKinds()[i - 1].memory_bytes);
  }
}

TEST(DeviceKindTest, AnUnknownKindIsTakenForAnA100) {
  EXPECT_EQ(FindDeviceKind("TPU"), nullptr);
  EXPECT_EQ(RelativeSpeed("TPU", "A100", 0.5), 1);
  EXPECT_EQ(RelativeSpeed("A100", "A100", 0.5), 1);
}

}  // namespace
}  // namespace sluice
