#include "control/assignment.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(AssignmentTest, WorkersNames) {
  const wire::LaunchRef at{TrialId(7), LaunchId(2)};
  EXPECT_EQ(WorkerName(at), "7.2");
  EXPECT_EQ(ParseWorkerName("7.2"), at);
  for (const char* name : {"", "7", "7.", ".2", "0.1", "1.0", "7.2x", "7.2.1", "-1.2",
                           "4294967296.1", "7 .2", "../1.1"}) {
    EXPECT_FALSE(ParseWorkerName(name)) << name;
  }
}

}  // namespace
}  // namespace sluice
