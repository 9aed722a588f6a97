// Tests of claims: which process carries a launch, and whether that process still lives.

#include "launcher/claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "launcher/process.h"
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
  EXPECT_EQ(MakeClaim(folder.path(), mine), Claimed::kMade);
  EXPECT_EQ(MakeClaim(folder.path(), Claim{}), Claimed::kTaken);
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
        (void)!read(go[0], &byte, 1);  // until the parent closes the pipe, for all at the same time
        _exit(MakeClaim(folder.path(), ClaimOfSelf("h")) == Claimed::kMade ? 1 : 0);
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

TEST(ClaimTest, AFolderThatCannotBeWrittenIsNoClaim) {
  EXPECT_EQ(MakeClaim("/proc/no-such-folder", ClaimOfSelf("h")), Claimed::kFailed);
  EXPECT_EQ(errno, ENOENT);
}

TEST(ClaimTest, AClaimCountsWhereItWasMade) {
  const LaunchFolder folder;
  const LaunchFolder copy;
  ASSERT_EQ(MakeClaim(folder.path(), ClaimOfSelf("/h")), Claimed::kMade);
  EXPECT_TRUE(IsAlive(*ReadClaim(folder.path())));
  std::filesystem::copy(folder.path() + "/claim", copy.path() + "/claim");
  ASSERT_TRUE(ReadClaim(copy.path()));
  EXPECT_TRUE(ReadClaim(copy.path())->copied);
  EXPECT_FALSE(IsAlive(*ReadClaim(copy.path())));
  // A claim stays valid when its folder is moved.
  std::filesystem::remove(copy.path() + "/claim");
  std::filesystem::remove(copy.path());
  std::filesystem::rename(folder.path(), copy.path());
  EXPECT_FALSE(ReadClaim(copy.path())->copied);
  EXPECT_TRUE(IsAlive(*ReadClaim(copy.path())));
}

TEST(ClaimTest, ClaimsOfBeforeSayNotWhereTheyWereMade) {
  const LaunchFolder folder;
  const Claim self = ClaimOfSelf("/h");
  std::ofstream(folder.path() + "/claim")
      << self.pid << " " << self.start << " " << self.boot << " /a folder/with: 1:2\n";
  const auto claim = ReadClaim(folder.path());
  ASSERT_TRUE(claim);
  EXPECT_FALSE(claim->copied);
  EXPECT_EQ(claim->host, "/a folder/with: 1:2");
  EXPECT_TRUE(IsAlive(*claim));
}

TEST(ClaimTest, AProcessIsAliveUntilItEndsAndNoOtherIsTakenForIt) {
  EXPECT_TRUE(IsAlive(ClaimOfSelf("h")));
  const LaunchFolder folder;
  Child child;
  ASSERT_TRUE(WriteProgram(folder.path(), child.pid()));
  Claim claim = ClaimOfSelf("h");
  claim.start += 1;  // another process has the pid by now
  EXPECT_FALSE(IsAlive(claim));
  claim = ClaimOfSelf("h");
  claim.boot = "another life";
  EXPECT_FALSE(IsAlive(claim));
  EXPECT_FALSE(IsAlive(Claim{}));  // by a controller that took the launch back
}

TEST(ClaimTest, AZombieIsDead) {
  const LaunchFolder folder;
  const pid_t pid = fork();
  if (pid == 0) _exit(MakeClaim(folder.path(), ClaimOfSelf("h")) == Claimed::kMade ? 0 : 1);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT),
            0);  // it has ended and is not reaped
  EXPECT_FALSE(IsAlive(*ReadClaim(folder.path())));
  waitpid(pid, nullptr, 0);
}

TEST(ClaimTest, WhatAKilledLauncherLeftBehindIsKilled) {
  const LaunchFolder folder;
  EXPECT_TRUE(KillLaunch(folder.path()));  // nothing there
  Child child;
  ASSERT_TRUE(Becomes([&] { return getpgid(child.pid()) == child.pid(); }));
  ASSERT_TRUE(WriteProgram(folder.path(), child.pid()));
  EXPECT_TRUE(KillLaunch(folder.path()));
  int status = 0;
  ASSERT_EQ(waitpid(child.pid(), &status, 0), child.pid());
  EXPECT_TRUE(WIFSIGNALED(status));
}

// Starts a process whose environment says that the program of a launch has started it.
pid_t StartOrphan(const std::string& folder, const Claim& launcher) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setsid();
  setenv(kMarks, MarkOf(launcher).c_str(), 1);
  setenv("SLUICE_TRIAL_FILE", (folder + "/trial.json").c_str(), 1);
  execlp("sleep", "sleep", "1000", nullptr);
  _exit(127);
}

TEST(ClaimTest, WhatIsLeftOfLaunchesWithoutLaunchersIsKilledAndNothingElse) {
  const LaunchFolder root;
  const LaunchFolder elsewhere;
  Claim dead = ClaimOfSelf("h");
  dead.start -= 1;
  const auto launch = [](const std::string& folder, const Claim& launcher) {
    std::filesystem::create_directories(folder);
    EXPECT_EQ(MakeClaim(folder, launcher), Claimed::kMade);
    return StartOrphan(folder, launcher);
  };
  const pid_t orphan = launch(root.path() + "/a/trials/1/launch-1", dead);
  const pid_t living = launch(root.path() + "/a/trials/2/launch-1", ClaimOfSelf("h"));
  Claim other = dead;
  other.start -= 1;
  const pid_t other_store = launch(elsewhere.path() + "/a/trials/1/launch-1", other);
  ASSERT_TRUE(Becomes([&] { return LaunchesAlive(root.path()).size() == 2; }));
  ASSERT_TRUE(Becomes([&] { return LaunchesAlive(elsewhere.path()).size() == 1; }));
  KillOrphans(root.path());
  EXPECT_FALSE(Exists(orphan));
  EXPECT_TRUE(Exists(living));
  EXPECT_TRUE(Exists(other_store));
  for (const pid_t pid : {orphan, living, other_store}) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

TEST(ClaimTest, ExitRecordsComeBack) {
  const LaunchFolder folder;
  EXPECT_FALSE(ReadExit(folder.path()));
  ASSERT_TRUE(WriteExit(folder.path(), {.code = 127,
                                        .signal = 0,
                                        .error = "cannot start 'a b': no",
                                        .machine = true,
                                        .dropped_bytes = 1LL << 40,
                                        .lost_bytes = 7,
                                        .unkilled = 2}));
  const auto record = ReadExit(folder.path());
  ASSERT_TRUE(record);
  EXPECT_TRUE(record->machine);
  EXPECT_EQ(record->lost_bytes, 7);
  EXPECT_EQ(record->unkilled, 2);
  EXPECT_EQ(record->code, 127);
  EXPECT_EQ(record->error, "cannot start 'a b': no");
  EXPECT_EQ(record->dropped_bytes, 1LL << 40);
  ASSERT_TRUE(WriteExit(folder.path(), {.code = 0, .signal = 9, .error = ""}));
  EXPECT_EQ(ReadExit(folder.path())->signal, 9);
  EXPECT_EQ(ReadExit(folder.path())->error, "");
  EXPECT_FALSE(ReadExit(folder.path())->machine);
}

TEST(ClaimTest, ExitRecordsOfBeforeAreRead) {
  const LaunchFolder folder;
  std::ofstream(folder.path() + "/exit") << "2 0 17 cannot start 'x': no\n";
  const auto record = ReadExit(folder.path());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->code, 2);
  EXPECT_EQ(record->dropped_bytes, 17);
  EXPECT_EQ(record->lost_bytes, 0);
  EXPECT_EQ(record->error, "cannot start 'x': no");
}

TEST(ClaimTest, WhatIsNoFileIsNotRead) {
  const LaunchFolder folder;
  ASSERT_EQ(mkfifo((folder.path() + "/exit").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (folder.path() + "/claim").c_str()), 0);
  EXPECT_FALSE(ReadExit(folder.path()));
  EXPECT_FALSE(ReadClaim(folder.path()));
}

}  // namespace
}  // namespace sluice
