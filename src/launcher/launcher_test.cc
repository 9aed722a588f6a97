// Tests of a launcher with real programs: their output, how they end, and that no process is left.

#include "launcher/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>

#include "launcher/process_limits.h"
#include "launcher/test_folder.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Shell(const std::string& script) { return {"sh", "-c", script}; }

ExitRecord EndOf(const LaunchFolder& folder) {
  const auto record = ReadExit(folder.path());
  EXPECT_TRUE(record);
  return record.value_or(ExitRecord{});
}

pid_t PidIn(const LaunchFolder& folder, const std::string& file) {
  return static_cast<pid_t>(std::atol(folder.Read(file).c_str()));
}

TEST(LauncherTest, CapturesOutputAndTheExitCode) {
  const LaunchFolder folder;
  TestLauncher launcher(folder.path(), Shell("echo out; echo err >&2; cat; exit 3"));
  EXPECT_EQ(launcher.Wait(), 3);
  EXPECT_EQ(folder.Read("stdout"), "out\n");
  EXPECT_EQ(folder.Read("stderr"), "err\n");
  EXPECT_EQ(EndOf(folder).code, 3);
  EXPECT_EQ(EndOf(folder).signal, 0);
  EXPECT_EQ(EndOf(folder).error, "");
  EXPECT_EQ(EndOf(folder).dropped_bytes, 0);
}

TEST(LauncherTest, WritesDownASignal) {
  const LaunchFolder folder;
  TestLauncher launcher(folder.path(), Shell("kill -SEGV $$"));
  launcher.Wait();
  EXPECT_EQ(EndOf(folder).signal, SIGSEGV);
  EXPECT_EQ(EndOf(folder).code, 0);
}

TEST(LauncherTest, SaysWhyAProgramCannotBeStarted) {
  const LaunchFolder folder;
  TestLauncher launcher(folder.path(), {"no-such-program-here"});
  EXPECT_EQ(launcher.Wait(), 127);
  EXPECT_EQ(EndOf(folder).error, "cannot start 'no-such-program-here': No such file or directory");
  const LaunchFolder other;
  TestLauncher not_executable(other.path(), {"/etc/passwd"});
  EXPECT_EQ(not_executable.Wait(), 127);
  EXPECT_EQ(EndOf(other).error, "cannot start '/etc/passwd': Permission denied");
}

TEST(LauncherTest, TheProgramHasLimitsOfItsOwn) {
  ProcessLimits limits = LimitsOfSelf();
  const mode_t own = limits.umask;
  limits.umask = 0777 & ~own;
  limits.resources[RLIMIT_NOFILE] = {.rlim_cur = 40, .rlim_max = 50};
  setenv(kProgramLimits, FormatLimits(limits).c_str(), 1);
  const LaunchFolder folder;
  TestLauncher launcher(folder.path(),
                        Shell("umask; ulimit -Sn; ulimit -Hn; env | grep -c SLUICE_PROGRAM"));
  launcher.Wait();
  unsetenv(kProgramLimits);
  char expected[16];
  snprintf(expected, sizeof expected, "%04o", limits.umask);
  EXPECT_EQ(folder.Read("stdout"), std::string(expected) + "\n40\n50\n0\n");
  // The launcher's own files are made with its own umask.
  struct stat exit_record{};
  ASSERT_EQ(stat((folder.path() + "/exit").c_str(), &exit_record), 0);
  EXPECT_EQ(exit_record.st_mode & 0777, 0644 & ~own);
}

TEST(LauncherTest, LeavesAtOnceWhenTheLaunchIsTaken) {
  const LaunchFolder folder;
  ASSERT_EQ(MakeClaim(folder.path(), Claim{}), Claimed::kMade);
  TestLauncher launcher(folder.path(), Shell("echo ran"));
  EXPECT_EQ(launcher.Wait(), 0);
  EXPECT_EQ(folder.Read("stdout"), "");
  EXPECT_FALSE(ReadExit(folder.path()));
}

TEST(LauncherTest, TwoLaunchersOfOneLaunchStartItOnce) {
  for (int round = 0; round < 10; ++round) {
    const LaunchFolder folder;
    TestLauncher first(folder.path(), Shell("echo ran"));
    TestLauncher second(folder.path(), Shell("echo ran"));
    first.Wait();
    second.Wait();
    EXPECT_EQ(folder.Read("stdout"), "ran\n");
  }
}

TEST(LauncherTest, TheClaimIsTheLaunchersWhileItLives) {
  const LaunchFolder folder;
  TestLauncher launcher(folder.path(), Shell("echo up; sleep 100"));
  ASSERT_TRUE(Becomes([&] { return folder.Read("stdout") == "up\n"; }));
  const auto claim = ReadClaim(folder.path());
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->pid, launcher.pid());
  EXPECT_EQ(claim->host, folder.path());
  EXPECT_TRUE(IsAlive(*claim));
  launcher.Signal(SIGTERM);
  launcher.Wait();
  EXPECT_FALSE(IsAlive(*claim));
  EXPECT_EQ(EndOf(folder).signal, SIGTERM);
}

TEST(LauncherTest, TermAsksAndAProgramMayTidyUp) {
  const LaunchFolder folder;
  TestLauncher launcher(
      folder.path(),
      Shell("trap 'echo saved; exit 5' TERM; echo up; while :; do sleep 0.01; done"));
  ASSERT_TRUE(Becomes([&] { return folder.Read("stdout") == "up\n"; }));
  launcher.Signal(SIGTERM);
  EXPECT_EQ(launcher.Wait(), 5);
  EXPECT_EQ(folder.Read("stdout"), "up\nsaved\n");
}

TEST(LauncherTest, TheWholeGroupIsKilledAfterTheGracePeriod) {
  const LaunchFolder folder;
  // A program and its child that ignore every request.
  TestLauncher launcher(
      folder.path(),
      Shell("trap '' TERM; sh -c 'trap \"\" TERM; while :; do sleep 0.05; done' & echo $! > " +
            folder.path() + "/child; echo up; while :; do sleep 0.05; done"),
      /*grace_ms=*/200);
  ASSERT_TRUE(Becomes([&] { return folder.Read("stdout") == "up\n"; }));
  const pid_t child = PidIn(folder, "child");
  const auto begin = std::chrono::steady_clock::now();
  launcher.Signal(SIGTERM);
  launcher.Wait();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
  EXPECT_EQ(EndOf(folder).signal, SIGKILL);
  EXPECT_TRUE(Becomes([&] { return !Exists(child); }));
}

TEST(LauncherTest, GrandchildrenDoNotOutliveTheProgram) {
  const LaunchFolder folder;
  TestLauncher launcher(folder.path(),
                        Shell("sleep 100 & echo $! > " + folder.path() + "/child; exit 0"));
  EXPECT_EQ(launcher.Wait(), 0);
  const pid_t child = PidIn(folder, "child");
  ASSERT_GT(child, 0);
  EXPECT_TRUE(Becomes([&] { return !Exists(child); }));
}

TEST(LauncherTest, KillIsAtOnceAndTakesGrandchildrenToo) {
  const LaunchFolder folder;
  TestLauncher launcher(folder.path(),
                        Shell("trap '' TERM; sh -c 'trap \"\" TERM; sleep 100' & echo $! > " +
                              folder.path() + "/child; echo up; while :; do sleep 0.05; done"),
                        /*grace_ms=*/100'000);
  ASSERT_TRUE(Becomes([&] { return folder.Read("stdout") == "up\n"; }));
  const pid_t child = PidIn(folder, "child");
  launcher.Signal(SIGUSR1);
  launcher.Wait();
  EXPECT_EQ(EndOf(folder).signal, SIGKILL);
  EXPECT_TRUE(Becomes([&] { return !Exists(child); }));
}

TEST(LauncherTest, AProcessThatLeftTheGroupEndsWithTheProgram) {
  const LaunchFolder folder;
  TestLauncher launcher(folder.path(),
                        Shell("cd " + folder.path() +
                              "; setsid sh -c 'echo $$ > child; exec sleep 30' & "
                              "while [ ! -s child ]; do sleep 0.01; done; echo done"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(launcher.Wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(folder.Read("stdout"), "done\n");
  EXPECT_FALSE(Exists(PidIn(folder, "child")));
}

// The program's processes have sessions of their own, and parents that are gone.
TEST(LauncherTest, NothingThatTheProgramStartedIsLeftWhenTheExitRecordIsWritten) {
  constexpr const char* kTree =
      "setsid sh -c 'trap \"\" TERM HUP; echo $$ >> pids; "
      "(setsid sh -c \"echo \\$\\$ >> pids; sleep 1000\" &) ; sleep 1000' & "
      "while [ $(wc -l < pids) -lt 2 ]; do sleep 0.01; done; ";
  for (const std::string end : {"exit 0", "kill -9 $$", "sleep 1000"}) {
    const LaunchFolder folder;
    std::ofstream(folder.path() + "/pids").flush();
    TestLauncher launcher(folder.path(),
                          Shell("cd " + folder.path() + "; " + kTree + "echo up; " + end));
    ASSERT_TRUE(Becomes([&] { return folder.Read("stdout") == "up\n"; }));
    if (end == "sleep 1000") launcher.Signal(SIGUSR1);
    ASSERT_TRUE(Becomes([&] { return ReadExit(folder.path()).has_value(); })) << end;
    std::ifstream pids(folder.path() + "/pids");
    int count = 0;
    for (pid_t pid = 0; pids >> pid; ++count) EXPECT_FALSE(Exists(pid)) << end;
    EXPECT_EQ(count, 2);
    launcher.Wait();
  }
}

TEST(LauncherTest, WhatAKilledLauncherLeavesIsFoundByItsMark) {
  const LaunchFolder folder;
  TestLauncher launcher(folder.path(),
                        Shell("cd " + folder.path() +
                              "; (setsid sh -c 'echo $$ > child; sleep 1000' &); "
                              "while [ ! -s child ]; do sleep 0.01; done; echo up; sleep 1000"));
  ASSERT_TRUE(Becomes([&] { return folder.Read("stdout") == "up\n"; }));
  const pid_t program = PidIn(folder, "program");
  const pid_t child = PidIn(folder, "child");
  launcher.Signal(SIGKILL);
  launcher.Wait();
  EXPECT_TRUE(Becomes([&] { return !Exists(program); })) << "the program dies with its launcher";
  EXPECT_TRUE(Exists(child));
  EXPECT_TRUE(KillLaunch(folder.path()));
  EXPECT_FALSE(Exists(child));
}

TEST(LauncherTest, OutputBeyondTheCapIsDroppedExceptResults) {
  const LaunchFolder folder;
  TestLauncher launcher(folder.path(),
                        Shell("i=0; while [ $i -lt 200 ]; do echo noise noise noise; echo "
                              "\"{\\\"loss\\\": $i}\"; i=$((i+1)); done"),
                        5000, /*cap_bytes=*/4000);
  EXPECT_EQ(launcher.Wait(), 0);
  const std::string out = folder.Read("stdout");
  EXPECT_LT(out.size(), 8100U);
  EXPECT_THAT(out, HasSubstr("[sluice: output beyond the cap was dropped]\n"));
  for (int i = 0; i < 200; ++i)
    EXPECT_THAT(out, HasSubstr("\n{\"loss\": " + std::to_string(i) + "}\n"));
  EXPECT_GT(EndOf(folder).dropped_bytes, 0);
}

TEST(LauncherTest, SaysHowItIsUsed) { EXPECT_EQ(RunLauncher(1, nullptr), 2); }

}  // namespace
}  // namespace sluice
