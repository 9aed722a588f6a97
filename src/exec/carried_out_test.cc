#include "exec/carried_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

StudySpec StudyWith(std::string_view lines) {
  auto study = ReadStudy(
      "program: python train.py {args}\nspace: {lr: {float: [1e-4, 1]}}\n"
      "objective: {maximize: accuracy}\ntrials: 3\nbudget: {max: 9}\ndeadline: 1h\n" +
          std::string(lines),
      "study.yaml", "study");
  EXPECT_TRUE(study) << study.error().message;
  return *std::move(study);
}

TEST(CarriedOutTest, PackingOntoGpusIsNot) {
  for (const char* policy :
       {"hypersack-ff", "hypersack-ffd", "hypersack-wf", "hypersack-wfd", "hypersack-mip"}) {
    const std::string line = "policy: " + std::string(policy) + "\n";
    const Status status =
        CheckCarriedOut(StudyWith(line + "resources: {gpus: 0.5, memory: 4GiB}\n"));
    ASSERT_FALSE(status) << policy;
    EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(status.error().message,
                AllOf(StartsWith("policy: " + std::string(policy) + " packs trials onto a GPU"),
                      HasSubstr("'sluice simulate'")));
    EXPECT_TRUE(CheckCarriedOut(StudyWith(line + "resources: {cpus: 2}\n"))) << policy;
  }
}

TEST(CarriedOutTest, BundlesAre) {
  for (const char* policy : {"hydro", "confluence"}) {
    const std::string line = "policy: " + std::string(policy) + "\n";
    EXPECT_TRUE(CheckCarriedOut(StudyWith(line + "resources: {cpus: 1}\nfuse: 8\n"))) << policy;
    EXPECT_TRUE(CheckCarriedOut(
        StudyWith(line + "resources: {gpus: 1, memory: 4GiB}\nfuse: {most: 8, memory: 1GiB}\n")))
        << policy;
  }
}

TEST(CarriedOutTest, WhatOtherPoliciesDoNotUseIsNoHindrance) {
  for (const char* policy : {"fifo", "lpt", "fluid-static", "fluid-dynamic", "hypersched"}) {
    EXPECT_TRUE(CheckCarriedOut(StudyWith("policy: " + std::string(policy) +
                                          "\nresources: {gpus: 1, memory: 4GiB}\nfuse: 8\n")))
        << policy;
  }
}

}  // namespace
}  // namespace sluice
