#include "exec/checkpoint_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "exec/launch_folder.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CheckpointFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "sluice-copy-XXXXXX";
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ / "3/checkpoint/latest");
  }
  void TearDown() override { fs::remove_all(root_); }

  static void Write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Status Copy() const { return CopyCheckpointFolder(From(), To()); }
  fs::path From() const { return root_ / "3/checkpoint"; }
  fs::path To() const { return root_ / "12/checkpoint"; }

  fs::path root_;
};

TEST_F(CheckpointFolderTest, CopiesFilesFoldersAndLinksButNothingThatIsBeingWritten) {
  Write(From() / "latest/model", "weights");
  fs::create_directories(From() / "latest/a/b");
  Write(From() / "latest/a/b/state", "1");
  fs::create_symlink("model", From() / "latest/link");
  fs::create_directories(From() / ".writing");
  Write(From() / ".writing/model", "half");
  ASSERT_TRUE(Copy());
  EXPECT_EQ(Read(To() / "latest/model"), "weights");
  EXPECT_EQ(Read(To() / "latest/a/b/state"), "1");
  EXPECT_EQ(fs::read_symlink(To() / "latest/link"), "model");
  EXPECT_FALSE(fs::exists(To() / ".writing"));
  EXPECT_FALSE(fs::exists(root_ / "12/checkpoint.copying"));
}

TEST_F(CheckpointFolderTest, ACheckpointSaysItsWork) {
  EXPECT_EQ(CheckpointWork(From()), std::nullopt) << "a program that saves in its own way";
  Write(From() / "latest/.sluice-work", "12\n");
  EXPECT_EQ(CheckpointWork(From()), 12);
  ASSERT_TRUE(Copy());
  EXPECT_EQ(CheckpointWork(To()), 12);
  fs::rename(From() / "latest", From() / ".previous");
  EXPECT_EQ(CheckpointWork(From()), 12) << "killed between two renames";
  for (const char* nonsense : {"", "-3", "twelve", "99999999999999999999"}) {
    Write(From() / ".previous/.sluice-work", nonsense);
    EXPECT_EQ(CheckpointWork(From()), std::nullopt) << nonsense;
  }
  EXPECT_EQ(CheckpointWork(root_ / "none"), std::nullopt);
}

TEST_F(CheckpointFolderTest, TheCheckpointOfTheBestReportIsTheTrialsOwn) {
  Write(From() / "latest/.sluice-work", "12\n");
  EXPECT_EQ(KeptCheckpoint(From(), 9), std::nullopt);
  fs::create_directories(From() / "best");
  Write(From() / "best/.sluice-work", "9\n");
  Write(From() / "best/model", "weights");
  EXPECT_EQ(KeptCheckpoint(From(), 9), (From() / "best").string());
  EXPECT_EQ(KeptCheckpoint(From(), 8), std::nullopt) << "of an earlier one";
  EXPECT_EQ(KeptCheckpoint(From(), 12), std::nullopt) << "it is the latest";
  ASSERT_TRUE(Copy());
  EXPECT_EQ(CheckpointWork(To()), 12);
  EXPECT_FALSE(fs::exists(To() / "best"));
  Write(From() / "latest/.sluice-work", "9\n");
  Write(From() / "latest/.sluice-past", "");
  EXPECT_EQ(KeptCheckpoint(From(), 9), (From() / "best").string()) << "the latest went on";
  fs::remove(From() / "latest/.sluice-past");
  EXPECT_EQ(KeptCheckpoint(From(), 9), std::nullopt);
  Write(From() / "latest/.sluice-work", "12\n");
  fs::rename(From() / "best", From() / ".previous");
  EXPECT_EQ(KeptCheckpoint(From(), 9), (From() / ".previous").string())
      << "killed before it moved it";
}

TEST_F(CheckpointFolderTest, AFolderOfTheProgramsOwnIsCopied) {
  fs::create_directories(From() / "best");
  Write(From() / "best/model", "weights");
  fs::create_directories(From() / "latest/best");
  Write(From() / "latest/best/.sluice-work", "not ours");
  ASSERT_TRUE(Copy());
  EXPECT_EQ(Read(To() / "best/model"), "weights");
  EXPECT_EQ(Read(To() / "latest/best/.sluice-work"), "not ours");
}

TEST_F(CheckpointFolderTest, WhatWasCopiedOnceStays) {
  Write(From() / "latest/model", "old");
  ASSERT_TRUE(Copy());
  Write(From() / "latest/model", "new");
  fs::create_directories(root_ / "12/checkpoint.copying");  // left by a controller that was killed
  ASSERT_TRUE(Copy());
  EXPECT_EQ(Read(To() / "latest/model"), "old");
}

TEST_F(CheckpointFolderTest, ACopyThatWasCutShortIsMadeAnew) {
  Write(From() / "latest/model", "weights");
  fs::create_directories(root_ / "12/checkpoint.copying/latest");
  Write(root_ / "12/checkpoint.copying/latest/model", "wei");
  Write(root_ / "12/checkpoint.copying/latest/stray", "x");
  ASSERT_TRUE(Copy());
  EXPECT_EQ(Read(To() / "latest/model"), "weights");
  EXPECT_FALSE(fs::exists(To() / "latest/stray"));
}

TEST_F(CheckpointFolderTest, FailuresLeaveNothing) {
  const Status missing = CopyCheckpointFolder(root_ / "4/checkpoint", To());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(missing.error().message, HasSubstr("there is no checkpoint to copy"));
  Write(From() / "latest/model", "weights");
  Write(root_ / "12", "a file where the folder should be");
  const Status blocked = Copy();
  ASSERT_FALSE(blocked);
  EXPECT_THAT(blocked.error().message, HasSubstr("cannot copy"));
}

// A trial saves as sluice.checkpoint does, as fast as it can. Each copy is of one checkpoint, never
// a mix of two.
TEST_F(CheckpointFolderTest, ACheckpointThatIsReplacedMeanwhileIsCopiedWhole) {
  const auto write = [&](int number) {
    fs::create_directories(From() / ".writing");
    for (const char* name : {"a", "b", "c"})
      Write(From() / ".writing" / name, std::to_string(number));
    std::error_code ignored;
    fs::remove_all(From() / ".previous", ignored);
    fs::rename(From() / "latest", From() / ".previous", ignored);
    fs::rename(From() / ".writing", From() / "latest");
    fs::remove_all(From() / ".previous", ignored);
  };
  write(0);
  // The checkpoint is replaced at different moments of a copy, however slow the disk is.
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(Copy());
  const auto of_a_copy = std::chrono::steady_clock::now() - before;
  std::atomic<bool> stop = false;
  std::thread trial([&] {
    for (int number = 1; !stop; ++number) {
      write(number);
      std::this_thread::sleep_for(of_a_copy * (number % 4));
    }
  });
  int copied = 0;
  for (int i = 0; i < 60; ++i) {
    fs::remove_all(root_ / "12");
    if (!Copy()) continue;
    ++copied;
    const fs::path whole = fs::exists(To() / "latest") ? To() / "latest" : To() / ".previous";
    const std::string number = Read(whole / "a");
    EXPECT_NE(number, "");
    EXPECT_EQ(Read(whole / "b"), number);
    EXPECT_EQ(Read(whole / "c"), number);
  }
  stop = true;
  trial.join();
  EXPECT_GT(copied, 5);
}

TEST_F(CheckpointFolderTest, LargeFilesAreCopiedPieceByPiece) {
  Write(From() / "latest/model", "weights");
  fs::resize_file(From() / "latest/model", (65 << 20) + 1);
  fs::permissions(From() / "latest/model", fs::perms::owner_all);
  ASSERT_TRUE(Copy());
  EXPECT_EQ(fs::file_size(To() / "latest/model"), (65U << 20) + 1);
  EXPECT_EQ(Read(To() / "latest/model").substr(0, 8), std::string("weights\0", 8));
  EXPECT_EQ(fs::status(To() / "latest/model").permissions(), fs::perms::owner_all);
}

TEST_F(CheckpointFolderTest, ACopyThatIsAskedToStopLeavesNothing) {
  Write(From() / "latest/model", "weights");
  std::stop_source stop;
  stop.request_stop();
  const Status copied = CopyCheckpointFolder(From(), To(), stop.get_token());
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(fs::exists(To()));
  EXPECT_FALSE(fs::exists(root_ / "12/checkpoint.copying"));
  EXPECT_TRUE(Copy()) << "the next controller makes the copy";
}

TEST_F(CheckpointFolderTest, TheOwnerIsBesideTheFolderAndIsNotCopied) {
  ASSERT_TRUE(SetCheckpointOwner(From(), LaunchId(9)));
  EXPECT_EQ(Read(root_ / "3/checkpoint.owner"), "0000000009\n");
  ASSERT_TRUE(SetCheckpointOwner(From(), LaunchId(10)));
  EXPECT_EQ(Read(root_ / "3/checkpoint.owner"), "0000000010\n");
  EXPECT_EQ(FolderBytes(From()), 0) << "a trial without a checkpoint has none because of it";
  ASSERT_TRUE(Copy());
  EXPECT_FALSE(fs::exists(root_ / "12/checkpoint.owner"));
}

// A process of an earlier launch locks the file, to put its checkpoint in place, and then hangs.
TEST_F(CheckpointFolderTest, TheOwnerDoesNotChangeWhileTheFileIsLocked) {
  ASSERT_TRUE(SetCheckpointOwner(From(), LaunchId(1)));
  const fs::path path = root_ / "3/checkpoint.owner";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int file = open(path.c_str(), O_RDWR);
    const bool locked = lockf(file, F_LOCK, 0) == 0 && write(ready[1], "x", 1) == 1;
    while (locked) pause();
    _exit(1);
  }
  close(ready[1]);
  char word = 0;
  EXPECT_EQ(read(ready[0], &word, 1), 1);
  const Status busy = SetCheckpointOwner(From(), LaunchId(2));
  ASSERT_FALSE(busy);
  EXPECT_THAT(busy.error().message, HasSubstr("checkpoint.owner: a process of an earlier launch"));
  EXPECT_EQ(Read(path), "0000000001\n");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  EXPECT_TRUE(SetCheckpointOwner(From(), LaunchId(2)));
  EXPECT_EQ(Read(path), "0000000002\n");
}

TEST_F(CheckpointFolderTest, AnOwnerThatCannotBeWrittenIsAnError) {
  const Status written = SetCheckpointOwner(root_ / "missing/checkpoint", LaunchId(1));
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("missing/checkpoint.owner: cannot write"));
}

}  // namespace
}  // namespace sluice
