// Tests of the folders of launches, and of what their files say about how a launch ended.

#include "exec/launch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "launcher/claim.h"
#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = LaunchEnd::Kind;

LaunchEnd EndWith(const ExitRecord& record, const std::string& stderr_text = "",
                  bool paused = false) {
  const TestFolder folder;
  const std::string path = folder / "";
  WriteAll(folder / "stderr", stderr_text);
  if (paused) WriteAll(folder / "paused", "");
  EXPECT_TRUE(WriteExit(path, record));
  return ReadLaunchEnd(path, path);
}

TEST(LaunchFolderTest, FoldersOfAStudy) {
  const TestFolder folder;
  const TrialFolders folders(StorePaths::For(folder / "s.db"), "study");
  const wire::LaunchRef at{TrialId(7), LaunchId(2)};
  EXPECT_EQ(folders.Launch(at), folder / "s.files/studies/study/trials/7/launch-2");
  EXPECT_EQ(folders.Checkpoint(TrialId(7)), folder / "s.files/studies/study/trials/7/checkpoint");
  EXPECT_TRUE(folders.Make(at));
  EXPECT_TRUE(folders.Make(at));
  EXPECT_TRUE(std::filesystem::is_directory(folders.Launch(at)));
}

TEST(LaunchFolderTest, WhatAnEarlierLifeLeftIsMovedAsideAndWhatAnotherControllerLeftIsNot) {
  const TestFolder folder;
  const TrialFolders folders(StorePaths::For(folder / "s.db"), "study");
  const wire::LaunchRef at{TrialId(7), LaunchId(2)};
  ASSERT_TRUE(folders.Make(at));
  // The claim is left from a state of the store that was undone.
  ASSERT_EQ(MakeClaim(folders.Launch(at), Claim{}), Claimed::kMade);
  const auto lost = [] { return Status(FailedPrecondition("the store is another's")); };
  EXPECT_FALSE(folders.MakeFresh(at, lost));
  EXPECT_TRUE(ReadClaim(folders.Launch(at)));
  EXPECT_TRUE(folders.MakeFresh(at, [] { return Status(); }));
  EXPECT_FALSE(ReadClaim(folders.Launch(at)));
  EXPECT_TRUE(ReadClaim(folders.Launch(at) + ".old-1"));
  EXPECT_TRUE(folders.MakeFresh(at, lost)) << "nothing has looked for it";
}

TEST(LaunchFolderTest, EndsAsTheProgramDid) {
  EXPECT_EQ(EndWith({}).kind, Kind::kDone);
  EXPECT_EQ(EndWith({}, "a warning", /*paused=*/true).kind, Kind::kPaused);
  const LaunchEnd failed = EndWith({.code = 1, .signal = 0, .error = "", .dropped_bytes = 0},
                                   "Traceback ...\n  File\nValueError: bad lr\n\n");
  EXPECT_EQ(failed.kind, Kind::kFailed);
  EXPECT_EQ(failed.reason,
            "exit code 1: ValueError: bad lr\nTraceback ...\n  File\nValueError: bad lr");
  EXPECT_EQ(EndWith({.code = 1}, "one line\n").reason, "exit code 1: one line");
  const std::string many = EndWith({.code = 1}, std::string(5000, 'x') + "\n1\n2\n\n3\n").reason;
  EXPECT_EQ(many, "exit code 1: 3\n1\n2\n3");
  std::string long_lines;
  for (int i = 0; i < 100; ++i) long_lines += std::string(90, 'a') + "\n";
  EXPECT_LE(EndWith({.code = 1}, long_lines).reason.size(), 500U);
  EXPECT_EQ(EndWith({.asked = true}).kind, Kind::kCutShort);
  EXPECT_EQ(EndWith({.asked = true}, "", /*paused=*/true).kind, Kind::kPaused);
  EXPECT_EQ(EndWith({.code = 1, .asked = true}).kind, Kind::kFailed);
  EXPECT_EQ(EndWith({.code = 2, .signal = 0, .error = "", .dropped_bytes = 0}, "").reason,
            "exit code 2");
  EXPECT_EQ(EndWith({.code = 0, .signal = 9, .error = "", .dropped_bytes = 0}, "", /*paused=*/true)
                .reason,
            "killed by signal 9 (Killed)");
  EXPECT_EQ(
      EndWith({.code = 127, .signal = 0, .error = "cannot start 'x'", .dropped_bytes = 0}, "noise")
          .reason,
      "cannot start 'x'");
  EXPECT_LT(
      EndWith({.code = 1, .signal = 0, .error = "", .dropped_bytes = 0}, std::string(100'000, 'x'))
          .reason.size(),
      400U);
}

TEST(LaunchFolderTest, WithoutARecordItsLauncherWasKilled) {
  const TestFolder folder;
  EXPECT_EQ(ReadLaunchEnd(folder / "", folder / "").kind, Kind::kNotStarted);
  ASSERT_EQ(MakeClaim(folder / "", ClaimOfSelf("/h")), Claimed::kMade);
  const LaunchEnd end = ReadLaunchEnd(folder / "", folder / "");
  EXPECT_EQ(end.kind, Kind::kLost);
  EXPECT_EQ(end.reason, "its launcher was killed");
}

TEST(LaunchFolderTest, WhatTheMachineCouldNotStartIsNotTheTrialsFault) {
  const LaunchEnd end =
      EndWith({.code = 127, .error = "cannot start 'x': No space left", .machine = true});
  EXPECT_EQ(end.kind, Kind::kNotStarted);
  EXPECT_EQ(end.reason, "cannot start 'x': No space left");
}

TEST(LaunchFolderTest, ResultsThatCouldNotBeWrittenAreNoGoodEnd) {
  const LaunchEnd end = EndWith({.lost_bytes = 7});
  EXPECT_EQ(end.kind, Kind::kLost);
  EXPECT_THAT(end.reason, ::testing::HasSubstr("7 bytes of its standard output"));
  EXPECT_EQ(EndWith({.code = 3, .lost_bytes = 7}).reason, "exit code 3");
  EXPECT_EQ(EndWith({.dropped_bytes = 7}).kind, Kind::kDone);  // output beyond its cap
}

TEST(LaunchFolderTest, ALaunchOfACopiedStoreTouchesNoProcess) {
  const TestFolder folder;
  std::filesystem::create_directory(folder / "original");
  std::filesystem::create_directory(folder / "copy");
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    while (true) pause();
  }
  ASSERT_EQ(MakeClaim(folder / "original", ClaimOfSelf("/h")), Claimed::kMade);
  ASSERT_TRUE(WriteProgram(folder / "original", child));
  std::filesystem::copy(folder / "original", folder / "copy",
                        std::filesystem::copy_options::recursive);
  EXPECT_EQ(ReadLaunchEnd(folder / "copy", folder / "copy").kind, Kind::kLost);
  EXPECT_EQ(kill(child, 0), 0);
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "it lives";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(LaunchFolderTest, WhatATrialPutInPlaceOfItsFilesIsNotRead) {
  const TestFolder folder;
  ASSERT_EQ(mkfifo((folder / "spool.jsonl").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (folder / "stderr").c_str()), 0);
  EXPECT_THAT(ReadSpool(folder / ""), IsEmpty());
  EXPECT_TRUE(WriteExit(folder / "", {.code = 1}));
  EXPECT_EQ(ReadLaunchEnd(folder / "", folder / "").reason, "exit code 1");
}

TEST(LaunchFolderTest, TheLaunchOfAFolderIsKnownWhereverItLies) {
  const auto at = TrialFolders::LaunchAt("/somewhere/studies/s/trials/7/launch-2");
  ASSERT_TRUE(at);
  EXPECT_EQ(Number(at->trial), 7U);
  EXPECT_EQ(Number(at->launch), 2U);
  EXPECT_FALSE(TrialFolders::LaunchAt("/somewhere/7/checkpoint"));
  EXPECT_FALSE(TrialFolders::LaunchAt(""));
}

TEST(LaunchFolderTest, TheSpoolIsReadLineByLine) {
  const TestFolder folder;
  EXPECT_THAT(ReadSpool(folder / ""), IsEmpty());
  WriteAll(folder / "spool.jsonl", "{\"a\":1}\n{\"b\":2}\n{\"broken");
  EXPECT_THAT(ReadSpool(folder / ""), ElementsAre("{\"a\":1}", "{\"b\":2}"));
  WriteAll(folder / "spool.jsonl", "");
  EXPECT_THAT(ReadSpool(folder / ""), IsEmpty());
}

TEST(LaunchFolderTest, BytesInAFolder) {
  const TestFolder folder;
  EXPECT_EQ(FolderBytes(folder / "none"), 0);
  EXPECT_TRUE(WriteFile(folder / "a", std::string(100, 'x')));
  std::filesystem::create_directories(folder / "sub/deeper");
  EXPECT_TRUE(WriteFile(folder / "sub/deeper/b", "12345"));
  std::filesystem::create_symlink(folder / "a", folder / "link");
  std::filesystem::create_directory_symlink(folder / "", folder / "sub/loop");
  EXPECT_EQ(FolderBytes(folder / ""), 105);
}

TEST(LaunchFolderTest, WritingSaysWhyItCannot) {
  const TestFolder folder;
  EXPECT_TRUE(WriteFile(folder / "f", "long text"));
  EXPECT_TRUE(WriteFile(folder / "f", "x"));
  EXPECT_EQ(ReadAll(folder / "f"), "x");
  const Status failed = WriteFile(folder / "no/f", "x");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message,
            (folder / "no/f") + ": cannot write: No such file or directory");
}

}  // namespace
}  // namespace sluice
