// One controller at a time, whatever becomes of it.

#include "ledger/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// A process that holds the lock until it is killed; 0 if it could not take it.
class Holder {
 public:
  explicit Holder(const StorePaths& paths) {
    int ready[2];
    SLUICE_CHECK(pipe(ready) == 0, "there are pipes");
    pid_ = fork();
    if (pid_ == 0) {
      const auto lock = StoreLock::Acquire(paths, "tuning 'a'");
      const char answer = lock ? 'y' : 'n';
      (void)!write(ready[1], &answer, 1);
      while (true) pause();
    }
    char answer = 0;
    close(ready[1]);
    holds_ = read(ready[0], &answer, 1) == 1 && answer == 'y';
    close(ready[0]);
  }
  ~Holder() { Kill(); }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  bool holds() const { return holds_; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  bool holds_ = false;
};

TEST(LockTest, ASecondControllerIsToldWhoHoldsIt) {
  const TestFolder folder;
  const StorePaths paths = StorePaths::For(folder / "s.db");
  EXPECT_EQ(FindLockHolder(paths).pid, 0);
  Holder holder(paths);
  ASSERT_TRUE(holder.holds());
  const auto second = StoreLock::Acquire(paths, "tuning 'b'");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(second.error().message,
              HasSubstr(fmt::format("in use by process {} (tuning 'a')", holder.pid())));
  EXPECT_EQ(FindLockHolder(paths).pid, holder.pid());
  EXPECT_EQ(FindLockHolder(paths).purpose, "tuning 'a'");

  holder.Kill();  // kill -9
  EXPECT_EQ(FindLockHolder(paths).pid, 0);
  const auto third = StoreLock::Acquire(paths, "x");
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(FindLockHolder(paths).pid, getpid());
  EXPECT_EQ(FindLockHolder(paths).purpose, "x");  // nothing of the longer text before it
}

TEST(LockTest, IsGivenBackAtTheEndOfItsLife) {
  const TestFolder folder;
  const StorePaths paths = StorePaths::For(folder / "s.db");
  {
    const auto lock = StoreLock::Acquire(paths, "a");
    ASSERT_TRUE(lock);
    EXPECT_FALSE(StoreLock::Acquire(paths, "b"));  // not twice in one process either
    EXPECT_FALSE(Holder(paths).holds());
  }
  EXPECT_TRUE(Holder(paths).holds());
}

TEST(LockTest, LookingForTheHolderDoesNotGiveTheLockAway) {
  const TestFolder folder;
  const StorePaths paths = StorePaths::For(folder / "s.db");
  const auto lock = StoreLock::Acquire(paths, "a");
  ASSERT_TRUE(lock);
  EXPECT_EQ(FindLockHolder(paths).pid, getpid());
  EXPECT_FALSE(Holder(paths).holds());
}

TEST(LockTest, SaysWhereItCannotBeMade) {
  const TestFolder folder;
  WriteAll(folder / "s.files", "in the way");
  const auto lock = StoreLock::Acquire(StorePaths::For(folder / "s.db"), "a");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(lock.error().message, HasSubstr("s.files/run"));
}

}  // namespace
}  // namespace sluice
