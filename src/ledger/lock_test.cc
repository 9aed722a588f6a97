// One controller at a time holds the lock of a store, and the lock is free again however it ends.

#include "ledger/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// A process that takes the lock and keeps it until the process is killed. holds() is false if it
// could not take the lock.
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
  EXPECT_THAT(lock.error().message, HasSubstr("s.files: expected a folder"));
}

TEST(LockTest, EveryNameOfAStoreIsTheSameStore) {
  const TestFolder folder;
  std::filesystem::create_symlink(folder / "s.db", folder / "link.db");
  const StorePaths paths = StorePaths::For(folder / "s.db");
  EXPECT_EQ(StorePaths::For(folder / "link.db").files, paths.files);  // before the store is made
  Holder holder(paths);
  ASSERT_TRUE(holder.holds());
  EXPECT_EQ(StorePaths::For(folder / "link.db").files, paths.files);
  const auto second = StoreLock::Acquire(StorePaths::For(folder / "link.db"), "b");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("in use by process"));
}

TEST(LockTest, AStoreHasOneName) {
  const TestFolder folder;
  ASSERT_TRUE(OpenStoreForWriting(folder / "s.db"));
  std::filesystem::create_hard_link(folder / "s.db", folder / "t.db");
  const auto lock = StoreLock::Acquire(StorePaths::For(folder / "t.db"), "a");
  ASSERT_FALSE(lock);
  EXPECT_THAT(lock.error().message, HasSubstr("2 names (hard links)"));
}

TEST(LockTest, FoldersAreNotShared) {
  const TestFolder folder;
  EXPECT_EQ(StorePaths::For(folder / "a.db").files, folder / "a.files");
  EXPECT_EQ(StorePaths::For(folder / "a.sqlite").files, folder / "a.sqlite.files");
  EXPECT_EQ(StorePaths::For(folder / "exp.1").files, folder / "exp.1.files");
  EXPECT_EQ(StorePaths::For(folder / "exp.2").files, folder / "exp.2.files");
  {
    const StorePaths paths = StorePaths::For(folder / "a.db");
    const auto lock = StoreLock::Acquire(paths, "a");
    ASSERT_TRUE(lock);
    ASSERT_TRUE(OpenLocked(paths, *lock));
  }
  const auto other = StoreLock::Acquire(StorePaths::For(folder / "a"), "a");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("holds the files of another store"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  // A folder whose store is gone may be taken over.
  std::filesystem::remove(folder / "a.db");
  EXPECT_TRUE(StoreLock::Acquire(StorePaths::For(folder / "a"), "a"));
}

TEST(LockTest, AStoreOfBeforeKeepsTheFolderOfItsStem) {
  const TestFolder folder;
  std::filesystem::create_directories(folder / "a.files/studies");
  EXPECT_EQ(StorePaths::For(folder / "a.sqlite").files, folder / "a.sqlite.files");
  WriteAll(folder / "a.sqlite", "");
  EXPECT_EQ(StorePaths::For(folder / "a.sqlite").files, folder / "a.files");
  WriteAll(folder / "a.db", "");
  EXPECT_EQ(StorePaths::For(folder / "a.sqlite").files, folder / "a.sqlite.files");
}

TEST(LockTest, NothingIsCommittedOnceTheLockOrTheStoreIsAnother) {
  for (const bool lock_goes : {true, false}) {
    const TestFolder folder;
    const StorePaths paths = StorePaths::For(folder / "s.db");
    const auto lock = StoreLock::Acquire(paths, "a");
    ASSERT_TRUE(lock);
    EXPECT_TRUE(lock->Check());
    auto ledger = OpenLocked(paths, *lock);
    ASSERT_TRUE(ledger);
    if (lock_goes) {
      for (const auto& file : std::filesystem::directory_iterator(paths.run))
        std::filesystem::remove(file);
      EXPECT_TRUE(StoreLock::Acquire(paths, "b"));
    } else {
      std::filesystem::rename(paths.database, folder / "moved.db");
    }
    EXPECT_FALSE(lock->Check());
    Batch batch;
    batch.study = StudyId(1);
    batch.events.emplace_back(EventSeq(1), Event{Time{}, Woken{}});
    const Status committed = (*ledger)->Commit(batch);
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_EQ((*ledger)->last(), EventSeq(0));
  }
}

TEST(LockTest, OnlyItsUserSeesTheFolderOfLockAndSocket) {
  const TestFolder folder;
  const mode_t before = umask(0);
  const StorePaths paths = StorePaths::For(folder / "s.db");
  const auto lock = StoreLock::Acquire(paths, "a");
  umask(before);
  ASSERT_TRUE(lock);
  const auto mode = [](const std::string& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0U;
  };
  EXPECT_EQ(mode(paths.run), 0700U);
  EXPECT_EQ(mode(paths.files) & 0002U, 0U);
}

}  // namespace
}  // namespace sluice
