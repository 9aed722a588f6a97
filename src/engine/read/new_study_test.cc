#include "engine/read/new_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<std::vector<std::string>> Check(const std::string& lines) {
  const std::string text = SourceOf(lines);
  return CheckNewStudy(ReadStudy(text, "study.yaml", "study").value(), text, "study.yaml");
}

// ReadStudy accepts such constraints: a stored study must stay readable.
TEST(NewStudyTest, RefusesConstraintsThatNeverHoldWhereTheyStand) {
  const auto found = Check(
      "trials: 3\nspace: {a: {int: [1, 9]}, b: {float: [0, 1]}}\n"
      "constraints:\n  - a > 5\n  - a > 10 * b + 9\n");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "study.yaml:5: constraints: expected a point at which all constraints hold, found none "
            "among 200000 points drawn at random: 'a > 10 * b + 9' never holds; change the "
            "constraints or widen the ranges");
}

// ReadStudy accepts such programs: a stored study must stay readable.
TEST(NewStudyTest, ProgramsAsAShellWouldTakeThem) {
  const auto found = Check("trials: 3\nprogram: OMP_NUM_THREADS=1 train {args}\n");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "study.yaml:2: program: expected a program, found a variable before it, and no shell "
            "runs it; write 'environment: {OMP_NUM_THREADS: 1}' instead");
  EXPECT_THAT(*Check("trials: 3\nprogram: activate x; train {args}\n"),
              ElementsAre(HasSubstr("'x;' is passed as it stands")));
  EXPECT_THAT(*Check("trials: 3\nprogram: \"train --lr={{lr}} {lr}\"\n"),
              ElementsAre(HasSubstr("{{lr}} is passed as it stands, in braces; write {lr}")));
}

TEST(NewStudyTest, RefusesMemoryWithoutItsUnit) {
  const auto found = Check("trials: 3\nresources:\n  gpus: 1\n  memory: 8\n");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "study.yaml:4: resources.memory: expected at least 1MiB, found 8 bytes; write '8GiB' "
            "or '8MiB'");
  EXPECT_TRUE(Check("trials: 3\nresources: {gpus: 1, memory: 1MiB}\n"));
  EXPECT_THAT(Check("trials: 3\ncheckpoint_cap: 50\n").error().message,
              HasSubstr("study.yaml:2: checkpoint_cap: expected at least 1kB, found 50 bytes"));
}

TEST(NewStudyTest, WhatIsHardlyMeant) {
  EXPECT_THAT(Check("trials: 3\nprogram: >\n  train \\\n  --lr {lr}\n").error().message,
              HasSubstr("study.yaml:2: program: expected options, found ' --lr' with a blank"));
  EXPECT_THAT(*Check("trials: 3\nstopper: {name: percentile, percentile: 0.25}\n"),
              ElementsAre(HasSubstr("write 25 for the best 25 %")));
  EXPECT_THAT(Check("trials: 3\nspace: {a: {float: [0, 1]}, b: {float: [0, 1]}}\n"
                    "constraints: [a + b == 1]\n")
                  .error()
                  .message,
              HasSubstr("floats are hardly ever equal: leave room"));
}

TEST(NewStudyTest, RemarksOnWhatIsLeftOfASpace) {
  EXPECT_THAT(*Check("trials: 3\n"), IsEmpty());
  EXPECT_THAT(*Check("trials: 3\nspace: {a: {int: [1, 9]}, b: {float: [0, 1], when: a > 9}}\n"),
              ElementsAre(HasSubstr("b: is never active")));
}

}  // namespace
}  // namespace sluice
