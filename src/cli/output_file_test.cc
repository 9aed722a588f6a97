#include "cli/output_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sluice {
namespace {

namespace fs = std::filesystem;

class OutputSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(::testing::TempDir()) /
        (std::string("sink_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = (folder_ / "out.csv").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t Files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(OutputSinkTest, AFileAppearsWholeOrNotAtAll) {
  {
    auto sink = OutputSink::Open(path_);
    ASSERT_TRUE(sink);
    sink->Write("half");
    EXPECT_FALSE(fs::exists(path_));
  }
  EXPECT_EQ(Files(), 0u);
  auto sink = OutputSink::Open(path_);
  ASSERT_TRUE(sink);
  sink->Write("whole");
  ASSERT_TRUE(sink->Commit());
  EXPECT_EQ(Read(path_), "whole");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputSinkTest, AnOldFileStaysUntilTheNewOneIsWhole) {
  std::ofstream(path_) << "old";
  fs::permissions(path_, fs::perms(0640));
  auto sink = OutputSink::Open(path_);
  ASSERT_TRUE(sink);
  sink->Write("new");
  EXPECT_EQ(Read(path_), "old");
  ASSERT_TRUE(sink->Commit());
  EXPECT_EQ(Read(path_), "new");
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0640));
}

TEST_F(OutputSinkTest, ALinkKeepsLeadingToTheFile) {
  std::ofstream(path_) << "old";
  const std::string link = (folder_ / "link").string();
  fs::create_symlink(path_, link);
  auto sink = OutputSink::Open(link);
  ASSERT_TRUE(sink);
  sink->Write("new");
  ASSERT_TRUE(sink->Commit());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(Read(path_), "new");
}

TEST_F(OutputSinkTest, ADeviceIsWrittenDirectly) {
  auto sink = OutputSink::Open("/dev/null");
  ASSERT_TRUE(sink);
  sink->Write("x");
  EXPECT_TRUE(sink->Commit());
}

TEST_F(OutputSinkTest, AFullDiskIsNoticed) {
  auto sink = OutputSink::Open("/dev/full");
  ASSERT_TRUE(sink);
  sink->Write("x");
  const Status status = sink->Commit();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
}

TEST_F(OutputSinkTest, WhereNothingCanBeWrittenItSaysSo) {
  const auto folder = OutputSink::Open(folder_.string());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kInvalidArgument);
  const auto missing = OutputSink::Open((folder_ / "no" / "out.csv").string());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace sluice
