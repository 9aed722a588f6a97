// What the files of a launch tell of its end.

#include "exec/launch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(LaunchFolderTest, EndsAsTheProgramDid) {
  EXPECT_EQ(EndWith({}).kind, Kind::kDone);
  EXPECT_EQ(EndWith({}, "a warning", /*paused=*/true).kind, Kind::kPaused);
  const LaunchEnd failed = EndWith({.code = 1, .signal = 0, .error = "", .dropped_bytes = 0},
                                   "Traceback ...\n  File\nValueError: bad lr\n\n");
  EXPECT_EQ(failed.kind, Kind::kFailed);
  EXPECT_EQ(failed.reason, "exit code 1: ValueError: bad lr");
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
  const LaunchEnd end = ReadLaunchEnd(folder / "", folder / "");
  EXPECT_EQ(end.kind, Kind::kLost);
  EXPECT_EQ(end.reason, "its launcher was killed");
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
