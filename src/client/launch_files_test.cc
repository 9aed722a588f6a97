#include "client/launch_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "client/launch_outbox.h"
#include "client/settings.h"
#include "client/test_controller.h"

namespace sluice::client {
namespace {

constexpr std::uint64_t kSecond = wire::kConversation;

TEST(LaunchFilesTest, AProcessThatCannotBeCountedDiffersFromTheEarlierOnes) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.Sub("7.1"));
  NextConversation(folder.Sub("7.1"));
  NextConversation(folder.Sub("7.1"));
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  rlimit none = files;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::uint64_t before = NextConversation(folder.Sub("7.1"));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(before, 2u);
}

TEST(LaunchFilesTest, ProcessesOfALaunchAreCounted) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.Sub("7.1"));
  EXPECT_EQ(NextConversation(folder.Sub("7.1")), 0u);
  EXPECT_EQ(NextConversation(folder.Sub("7.1")), 1u);
  EXPECT_EQ(NextConversation(folder.Sub("7.1")), 2u);
  EXPECT_EQ(NextConversation(folder.Sub("missing")), 0u);
}

TEST(LaunchFilesTest, ALineAfterATornOneIsWhole) {
  const TestFolder folder;
  ASSERT_TRUE(AppendToSpool(folder.Sub("7.1"), "one\n", false));
  std::ofstream(folder.Sub("7.1/spool.jsonl"), std::ios::app) << "tor";
  ASSERT_TRUE(AppendToSpool(folder.Sub("7.1"), "two\n", true));
  ASSERT_TRUE(AppendToSpool(folder.Sub("7.1"), "three\n", false));
  EXPECT_EQ(TestFolder::Read(folder.Sub("7.1/spool.jsonl")), "one\ntor\ntwo\nthree\n");
}

TEST(LaunchFilesTest, AFolderThatCannotBeWrittenIsNamed) {
  const TestFolder folder;
  std::ofstream(folder.Sub("file")) << "no folder";
  const Status status = AppendToSpool(folder.Sub("file"), "one\n", true);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(status.error().message.contains("file/spool.jsonl")) << status.error().message;
  EXPECT_FALSE(MarkPaused(folder.Sub("file")));
}

TEST(LaunchFilesTest, WhatIsAcknowledgedIsNotedInPlace) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.Sub("7.1"));
  NoteAcknowledged(folder.Sub("7.1"), 1234);
  NoteAcknowledged(folder.Sub("7.1"), 1235);
  EXPECT_EQ(TestFolder::Read(folder.Sub("7.1/acknowledged")), "00000000000000001235\n");
}

TEST(LaunchOutboxTest, EachMessageIsSpooledOnce) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.Sub("7.1"));
  LaunchOutbox outbox(TestLaunch(7), folder.Sub("7.1"));
  const auto spool = [&] { return TestFolder::Read(folder.Sub("7.1/spool.jsonl")); };
  const std::string first = **outbox.Add(wire::Done{});
  const std::string second = **outbox.Add(wire::Paused{});
  ASSERT_TRUE(outbox.Spool(false));
  EXPECT_EQ(spool(), first + "\n" + second + "\n");
  const std::string third = **outbox.Add(wire::Released{});
  outbox.Acknowledge(2);
  ASSERT_TRUE(outbox.Spool(true));
  ASSERT_TRUE(outbox.Spool(true));
  EXPECT_EQ(spool(), first + "\n" + second + "\n" + third + "\n");
  outbox.NoteAcknowledged();
  EXPECT_EQ(TestFolder::Read(folder.Sub("7.1/acknowledged")), "00000000000000000002\n");
}

TEST(LaunchOutboxTest, WhatIsAcknowledgedIsNotSpooled) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.Sub("7.1"));
  NextConversation(folder.Sub("7.1"));
  LaunchOutbox outbox(TestLaunch(7), folder.Sub("7.1"));
  ASSERT_TRUE(outbox.Add(wire::Done{}));
  const std::string second = **outbox.Add(wire::Paused{});
  outbox.Acknowledge(kSecond + 1);
  ASSERT_TRUE(outbox.Spool(true));
  EXPECT_EQ(TestFolder::Read(folder.Sub("7.1/spool.jsonl")), second + "\n");
  outbox.Acknowledge(kSecond + 7);  // more than there are
  EXPECT_TRUE(outbox.empty());
}

TEST(LaunchOutboxTest, AMessageThatIsTooLongIsNotKept) {
  const TestFolder folder;
  LaunchOutbox outbox(TestLaunch(7), folder.Sub("7.1"));
  const auto line =
      outbox.Add(wire::Failed{.at = {}, .reason = std::string(wire::kLongestLine, 'x')});
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(outbox.empty());
  const auto next = outbox.Add(wire::Done{});
  EXPECT_EQ(wire::NumberOf(*wire::DecodeFromWorker(**next)).seq, 1u);
}

class SettingsTest : public testing::Test {
 protected:
  SettingsTest() {
    setenv("SLUICE_SOCKET", "/somewhere/socket", 1);
    setenv("SLUICE_TRIAL_FILE", folder_.Sub("trial.json").c_str(), 1);
    unsetenv("SLUICE_WORKER");
  }
  ~SettingsTest() override {
    unsetenv("SLUICE_SOCKET");
    unsetenv("SLUICE_TRIAL_FILE");
  }
  void WriteTrialFile(const std::string& text) { std::ofstream(folder_.Sub("trial.json")) << text; }
  std::string ErrorOf(int capacity) {
    const auto settings = SettingsFromEnvironment(capacity, false);
    return settings ? "" : settings.error().message;
  }
  TestFolder folder_;
};

TEST_F(SettingsTest, AreReadFromTheEnvironment) {
  WriteTrialFile(wire::Encode(wire::ToWorker(ClientWorld().Assign(TestLaunch(7, 2)))) + "\n");
  std::ofstream(folder_.Sub("secret")) << "5f5f";
  const auto settings = SettingsFromEnvironment(16, true);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->socket_path, "/somewhere/socket");
  EXPECT_EQ(settings->worker, "7.2");
  EXPECT_EQ(settings->secret, "5f5f");
  EXPECT_EQ(settings->first.at, TestLaunch(7, 2));
  EXPECT_EQ(settings->capacity, 16);
  EXPECT_TRUE(settings->several_shapes);
  EXPECT_EQ(Client::Open(*std::move(SettingsFromEnvironment(0, false))).error().message,
            "capacity: expected a number from 1 to 4096, found 0");
}

TEST_F(SettingsTest, SayWhatIsMissing) {
  EXPECT_TRUE(ErrorOf(1).contains("trial.json")) << ErrorOf(1);
  WriteTrialFile("{}");
  EXPECT_TRUE(ErrorOf(1).contains("SLUICE_TRIAL_FILE")) << ErrorOf(1);
  WriteTrialFile(R"({"type":"exit"})");
  EXPECT_TRUE(ErrorOf(1).contains("'assign'")) << ErrorOf(1);
  unsetenv("SLUICE_SOCKET");
  EXPECT_TRUE(ErrorOf(1).contains("SLUICE_SOCKET")) << ErrorOf(1);
  unsetenv("SLUICE_TRIAL_FILE");
  EXPECT_TRUE(ErrorOf(1).contains("sluice tune")) << ErrorOf(1);
}

}  // namespace
}  // namespace sluice::client
