#include "cli/inspect/captured_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace sluice {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

Result<CapturedRun> Shell(const std::string& script, Duration patience = seconds(60)) {
  return RunCaptured({"/bin/sh", "-c", script}, "/", patience);
}

TEST(CapturedRunTest, OutputAndErrorsComeInTheirOrder) {
  const auto run = Shell("pwd; echo wrong >&2; cat; exit 3");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->output, "/\nwrong\n");
  EXPECT_EQ(run->exit_status, 3);
}

TEST(CapturedRunTest, OutputBeyondTheMostIsDropped) {
  const auto run = Shell("head -c 300000 /dev/zero; echo end");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->output.size(), CapturedRun::kMostOutput);
  EXPECT_EQ(run->exit_status, 0);
}

TEST(CapturedRunTest, AProgramThatTakesTooLongIsKilled) {
  const auto run = Shell("exec sleep 600", std::chrono::milliseconds(100));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(run.error().message, HasSubstr("/bin/sh took longer than "));
}

TEST(CapturedRunTest, WhatDoesNotRunIsAnError) {
  EXPECT_THAT(RunCaptured({"/nowhere/program"}, "/", seconds(60)).error().message,
              HasSubstr("cannot start /nowhere/program in /: No such file"));
  EXPECT_THAT(Shell("kill -9 $$").error().message, HasSubstr("was ended by signal 9"));
}

}  // namespace
}  // namespace sluice
