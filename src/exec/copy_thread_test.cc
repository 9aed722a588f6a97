#include "exec/copy_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

namespace sluice {
namespace {

namespace fs = std::filesystem;

class CopyThreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "sluice-copies-XXXXXX";
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ / "1/latest");
    std::ofstream(root_ / "1/latest/.sluice-work") << "4\n";
  }
  void TearDown() override {
    copier_.reset();
    close(ready_);
    fs::remove_all(root_);
  }

  CopyThread::Copy To(const std::string& fork, Work end = 9) const {
    return {.parent = TrialId(1), .from = root_ / "1", .to = root_ / fork, .end = end};
  }
  void Ask(const std::string& fork, Work end = 9) {
    copier_->Ask(To(fork, end), [this](const Site::CopyResult& copied) { copied_ = copied; });
  }
  // Waits for a copy, as the event loop does.
  void Await() {
    pollfd waits{.fd = ready_, .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&waits, 1, 20'000), 1);
    ClearSignal(ready_);
    for (const CopyThread::Answer& answer : copier_->TakeAnswers()) answer.done(answer.copied);
  }

  fs::path root_;
  int ready_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::unique_ptr<CopyThread> copier_ = std::make_unique<CopyThread>(ready_);
  std::optional<Site::CopyResult> copied_;
};

TEST_F(CopyThreadTest, SaysTheWorkOfTheCopy) {
  Ask("2");
  Await();
  ASSERT_TRUE(copied_ && copied_->has_value());
  EXPECT_EQ(**copied_, Work{4});
  EXPECT_TRUE(fs::exists(root_ / "2/latest/.sluice-work"));
}

TEST_F(CopyThreadTest, ACheckpointAtItsEndIsNotCopied) {
  Ask("2", /*end=*/4);
  Await();
  ASSERT_TRUE(copied_ && !copied_->has_value());
  EXPECT_EQ(copied_->error().message, "the checkpoint of trial 1 is at the full budget already");
  EXPECT_FALSE(fs::exists(root_ / "2"));
}

// Whatever the thread is doing when it is asked to end, each copy is complete or does not exist.
TEST_F(CopyThreadTest, EndsInTheMiddleOfItsCopies) {
  fs::resize_file(root_ / "1/latest/.sluice-work", 2);
  std::ofstream(root_ / "1/latest/model") << "weights";
  fs::resize_file(root_ / "1/latest/model", 200 << 20);
  for (const char* fork : {"2", "3", "4", "5"}) Ask(fork);
  copier_.reset();
  for (const auto& entry : fs::directory_iterator(root_)) {
    EXPECT_EQ(entry.path().extension(), "") << entry.path();
    EXPECT_EQ(fs::file_size(entry.path() / "latest/model"), 200U << 20);
  }
  EXPECT_FALSE(fs::exists(root_ / "5")) << "what had not begun is dropped";
}

}  // namespace
}  // namespace sluice
