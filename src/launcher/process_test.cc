// Tests of what the kernel says about processes, and of finding and ending those of a launch.

#include "launcher/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include "launcher/test_folder.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::Not;

// Starts a shell that runs a script in a session of its own. The caller ends it with EndShell.
pid_t StartShell(const std::string& script, const char* marks = nullptr) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setsid();
  if (marks != nullptr) setenv(kMarks, marks, 1);
  execlp("sh", "sh", "-c", script.c_str(), nullptr);
  _exit(127);
}

void EndShell(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST(ProcessTest, ChildrenAreThoseOfThisProcess) {
  const pid_t child = StartShell("exec sleep 1000");
  EXPECT_THAT(Children(), Contains(child));
  EXPECT_EQ(ParentOf(child), getpid());
  EXPECT_TRUE(IsBelow(child, getpid()));
  EXPECT_TRUE(IsBelow(child, child));
  EXPECT_FALSE(IsBelow(getpid(), child));
  EndShell(child);
  EXPECT_THAT(Children(), Not(Contains(child)));
  EXPECT_EQ(StartOf(child), 0U);
  EXPECT_FALSE(IsBelow(child, getpid()));
}

TEST(ProcessTest, OneThatReplacedItselfIsAnotherImage) {
  const pid_t child = StartShell("sleep 0.2; exec sh -c 'exec sleep 1000'");
  usleep(50'000);  // until the child has become a shell
  const auto start = StartOf(child);
  const auto shell = ImageOf(child);
  EXPECT_NE(shell, 0U);
  EXPECT_TRUE(Becomes([&] { return ImageOf(child) != shell; }));
  EXPECT_EQ(StartOf(child), start);
  EndShell(child);
  EXPECT_EQ(ImageOf(child), 0U);
}

TEST(ProcessTest, MarkedProcessesAreKilledAndNoOthers) {
  const pid_t marked = StartShell("exec sleep 1000", "a.1.2 b.3.4");
  const pid_t inner = StartShell("exec sleep 1000", "b.3.4 c.5.6");
  const pid_t other = StartShell("exec sleep 1000", "b.3.44");
  ASSERT_TRUE(Becomes([&] { return !Children().empty(); }));
  usleep(50'000);  // until the children have become shells
  EXPECT_TRUE(KillMarked("b.3.4"));
  EXPECT_FALSE(Exists(marked));
  EXPECT_FALSE(Exists(inner));
  EXPECT_TRUE(Exists(other));
  for (const pid_t pid : {marked, inner, other}) EndShell(pid);
}

TEST(ProcessTest, StraysAreKilledAndReapedButThoseWeKnow) {
  const int was = prctl(PR_SET_CHILD_SUBREAPER, 1);
  ASSERT_EQ(was, 0);
  const LaunchFolder folder;
  const pid_t known = StartShell("exec sleep 1000");
  // The stray's own child becomes a child of this process when the stray is killed.
  const pid_t stray =
      StartShell("setsid sh -c 'echo $$ > " + folder.path() + "/child; sleep 1000' & sleep 1000");
  ASSERT_TRUE(Becomes([&] { return !folder.Read("child").empty(); }));
  EXPECT_TRUE(KillStrays({known}));
  EXPECT_FALSE(Exists(stray));
  EXPECT_FALSE(Exists(static_cast<pid_t>(std::atol(folder.Read("child").c_str()))));
  EXPECT_TRUE(Exists(known));
  EXPECT_EQ(Children(), std::vector<pid_t>{known});
  EndShell(known);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace sluice
