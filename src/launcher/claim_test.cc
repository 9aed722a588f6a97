// Who carries a launch, and whether that process is still the one it was.

#include "launcher/claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/test_folder.h"

namespace sluice {
namespace {

// A child that does nothing until it is killed.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ != 0) return;
    setpgid(0, 0);
    while (true) pause();
  }
  ~Child() { Kill(); }
  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(ClaimTest, OnlyTheFirstClaimCounts) {
  const LaunchFolder folder;
  EXPECT_FALSE(ReadClaim(folder.path()));
  const Claim mine = ClaimOfSelf("/a folder/with spaces");
  EXPECT_TRUE(MakeClaim(folder.path(), mine));
  EXPECT_FALSE(MakeClaim(folder.path(), Claim{}));
  const auto read = ReadClaim(folder.path());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->pid, getpid());
  EXPECT_EQ(read->start, mine.start);
  EXPECT_EQ(read->boot, mine.boot);
  EXPECT_EQ(read->host, "/a folder/with spaces");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/claim." + std::to_string(getpid())));
}

TEST(ClaimTest, OfManyProcessesOneGetsIt) {
  for (int round = 0; round < 20; ++round) {
    const LaunchFolder folder;
    int go[2];
    ASSERT_EQ(pipe(go), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        char byte = 0;
        close(go[1]);
        (void)!read(go[0], &byte, 1);  // all at once
        _exit(MakeClaim(folder.path(), ClaimOfSelf("h")) ? 1 : 0);
      }
      children.push_back(pid);
    }
    close(go[0]);
    close(go[1]);
    int winners = 0;
    pid_t winner = 0;
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      if (WEXITSTATUS(status) == 1) winner = child;
      winners += WEXITSTATUS(status);
    }
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(ReadClaim(folder.path())->pid, winner);
  }
}

TEST(ClaimTest, AFolderThatCannotBeWrittenCountsAsTaken) {
  EXPECT_FALSE(MakeClaim("/proc/no-such-folder", ClaimOfSelf("h")));
}

TEST(ClaimTest, AProcessIsAliveUntilItEndsAndNoOtherIsTakenForIt) {
  EXPECT_TRUE(IsAlive(ClaimOfSelf("h")));
  const LaunchFolder folder;
  Child child;
  ASSERT_TRUE(WriteProgram(folder.path(), child.pid()));
  Claim claim = ClaimOfSelf("h");
  claim.start += 1;  // a number that is somebody else's by now
  EXPECT_FALSE(IsAlive(claim));
  claim = ClaimOfSelf("h");
  claim.boot = "another life";
  EXPECT_FALSE(IsAlive(claim));
  EXPECT_FALSE(IsAlive(Claim{}));  // taken back
}

TEST(ClaimTest, AZombieIsDead) {
  const LaunchFolder folder;
  const pid_t pid = fork();
  if (pid == 0) _exit(MakeClaim(folder.path(), ClaimOfSelf("h")) ? 0 : 1);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT),
            0);  // it has ended and is not reaped
  EXPECT_FALSE(IsAlive(*ReadClaim(folder.path())));
  waitpid(pid, nullptr, 0);
}

TEST(ClaimTest, WhatAKilledLauncherLeftBehindIsKilled) {
  const LaunchFolder folder;
  KillProgram(folder.path());  // nothing there
  Child child;
  ASSERT_TRUE(Becomes([&] { return getpgid(child.pid()) == child.pid(); }));
  ASSERT_TRUE(WriteProgram(folder.path(), child.pid()));
  KillProgram(folder.path());
  int status = 0;
  ASSERT_EQ(waitpid(child.pid(), &status, 0), child.pid());
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(ClaimTest, ExitRecordsComeBack) {
  const LaunchFolder folder;
  EXPECT_FALSE(ReadExit(folder.path()));
  ASSERT_TRUE(WriteExit(
      folder.path(),
      {.code = 127, .signal = 0, .error = "cannot start 'a b': no", .dropped_bytes = 1LL << 40}));
  const auto record = ReadExit(folder.path());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->code, 127);
  EXPECT_EQ(record->error, "cannot start 'a b': no");
  EXPECT_EQ(record->dropped_bytes, 1LL << 40);
  ASSERT_TRUE(WriteExit(folder.path(), {.code = 0, .signal = 9, .error = "", .dropped_bytes = 0}));
  EXPECT_EQ(ReadExit(folder.path())->signal, 9);
  EXPECT_EQ(ReadExit(folder.path())->error, "");
}

}  // namespace
}  // namespace sluice
