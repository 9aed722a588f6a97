// Tests of which part of a program's output is kept.

#include "launcher/capture.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/test_folder.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNotice = "\n[sluice: output beyond the cap was dropped]\n";

struct Captured {
  std::string text;
  long long dropped_bytes = 0;
};

// Sends the parts through a pipe to a Capture, which reads after each write.
Captured CaptureAll(const std::vector<std::string>& parts, long long cap_bytes) {
  const LaunchFolder folder;
  int ends[2];
  if (pipe(ends) != 0) abort();
  fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  const int file = open((folder.path() + "/out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  Capture capture(ends[0], file, cap_bytes);
  for (const std::string& part : parts) {
    for (std::size_t at = 0; at < part.size();) {
      const ssize_t size =
          write(ends[1], part.data() + at, std::min<std::size_t>(part.size() - at, 65536));
      if (size <= 0) abort();
      at += static_cast<std::size_t>(size);
      EXPECT_TRUE(capture.Pump());
    }
  }
  close(ends[1]);
  while (capture.Pump()) {
  }
  close(ends[0]);
  close(file);
  return {folder.Read("out"), capture.dropped_bytes()};
}

TEST(CaptureTest, BelowTheCapEverythingIsKept) {
  const Captured all = CaptureAll({"a\n", "b", "c\n", std::string(1, '\0'), "x"}, 100);
  EXPECT_EQ(all.text, std::string("a\nbc\n\0x", 7));
  EXPECT_EQ(all.dropped_bytes, 0);
  EXPECT_EQ(CaptureAll({"12345"}, 5).text, "12345");
  EXPECT_EQ(CaptureAll({"12345"}, 5).dropped_bytes, 0);
}

TEST(CaptureTest, BeyondItOnlyLinesThatMayBeResults) {
  const std::string first = std::string(19, 'x') + "\n";
  const Captured all = CaptureAll({first, "noise\n{\"a\":1}\nmore\n", "{\"b\":", "2}\nend\n"}, 20);
  EXPECT_EQ(all.text, first + kNotice + "{\"a\":1}\n{\"b\":2}\n");
  EXPECT_EQ(all.dropped_bytes, 6 + 5 + 4);
}

TEST(CaptureTest, WhereItIsCutMakesNoDifference) {
  const std::string text =
      std::string(30, 'x') + "\nnoise\n{\"a\":1}\nmore\n{\"b\":2}\nx {\n{\"c\":3}\n";
  const Captured whole = CaptureAll({text}, 33);
  std::vector<std::string> bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  const Captured split = CaptureAll(bytes, 33);
  EXPECT_EQ(split.text, whole.text);
  EXPECT_EQ(split.dropped_bytes, whole.dropped_bytes);
  EXPECT_THAT(whole.text, HasSubstr("no" + std::string(kNotice)));
  EXPECT_THAT(whole.text, HasSubstr("{\"c\":3}\n"));
}

// A result is kept, wherever the cap falls.
TEST(CaptureTest, AResultAcrossTheCapIsKeptWhole) {
  const std::string text = "ab\n{\"loss\":1}\nnoise\n{\"loss\":2}\n";
  for (long long cap = 0; cap < 16; ++cap) {
    for (const bool split : {false, true}) {
      std::vector<std::string> parts = {text};
      if (split) {
        parts.clear();
        for (const char c : text) parts.emplace_back(1, c);
      }
      const Captured all = CaptureAll(parts, cap + 14);
      EXPECT_THAT(all.text, HasSubstr("{\"loss\":1}\n")) << cap;
      EXPECT_THAT(all.text, HasSubstr("{\"loss\":2}\n")) << cap;
    }
    if (cap < 11) continue;
    EXPECT_THAT(CaptureAll({text}, cap).text, HasSubstr("{\"loss\":1}\n")) << cap;
  }
}

TEST(CaptureTest, AResultWithoutAnEndIsKeptAtTheEnd) {
  const Captured all = CaptureAll({"abc\nnoise\n{\"loss\":1}"}, 12);
  EXPECT_THAT(all.text, HasSubstr("{\"loss\":1}"));
}

TEST(CaptureTest, ResultsHaveACapOfTheirOwn) {
  std::string text = "x\n";
  for (int i = 0; i < 100; ++i) text += "{\"a\":1}\n";
  const Captured all = CaptureAll({text}, 80);
  EXPECT_LT(all.text.size(), 80U + 80U + 60U);
  EXPECT_EQ(
      all.text.size() - std::string(kNotice).size() + static_cast<std::size_t>(all.dropped_bytes),
      text.size());
}

TEST(CaptureTest, AnEndlessLineIsDropped) {
  const Captured all = CaptureAll({"x\n", "{" + std::string(3 << 20, 'a'), "\n{\"a\":1}\n"}, 10);
  EXPECT_THAT(all.text, HasSubstr("\n{\"a\":1}\n"));
  EXPECT_THAT(all.text, Not(HasSubstr(std::string(100, 'a'))));
  EXPECT_GT(all.dropped_bytes, (3 << 20) - 10);
}

// A disk that is full until GetRoom is called.
class FullDisk {
 public:
  FullDisk() : file_(open("/dev/full", O_WRONLY | O_CLOEXEC)) {
    if (pipe(ends_) != 0) abort();
    fcntl(ends_[1], F_SETPIPE_SZ, 1 << 20);
  }
  ~FullDisk() {
    close(ends_[0]);
    close(ends_[1]);
    close(file_);
  }
  Capture Start() const { return {ends_[0], file_, 64 << 20}; }
  void Print(Capture& capture, const std::string& text) const {
    if (write(ends_[1], text.data(), text.size()) < 0) abort();
    EXPECT_TRUE(capture.Pump());
  }
  void GetRoom() const {
    const int room =
        open((folder_.path() + "/out").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    dup2(room, file_);
    close(room);
  }
  std::string Written() const { return folder_.Read("out"); }

 private:
  LaunchFolder folder_;
  int ends_[2];
  int file_;
};

TEST(CaptureTest, WhatAFullDiskDoesNotTakeIsWrittenWhenItHasRoom) {
  const FullDisk disk;
  Capture capture = disk.Start();
  disk.Print(capture, "{\"loss\":1}\n");
  EXPECT_TRUE(capture.waits());
  capture.TryAgain();
  EXPECT_TRUE(capture.waits());
  disk.Print(capture, "{\"loss\":2}\n");
  disk.GetRoom();
  disk.Print(capture, "{\"loss\":3}\n");
  capture.TryAgain();
  EXPECT_FALSE(capture.waits());
  disk.Print(capture, "{\"loss\":4}\n");
  EXPECT_EQ(disk.Written(), "{\"loss\":1}\n{\"loss\":2}\n{\"loss\":3}\n{\"loss\":4}\n");
  EXPECT_EQ(capture.lost_bytes(), 0);
  EXPECT_EQ(capture.dropped_bytes(), 0);
}

TEST(CaptureTest, WhatNeverFindsRoomIsCounted) {
  const FullDisk disk;
  Capture capture = disk.Start();
  disk.Print(capture, "12345\n");
  capture.GiveUp();
  EXPECT_EQ(capture.lost_bytes(), 6);
  EXPECT_FALSE(capture.waits());
}

TEST(CaptureTest, NoMoreThanABoundWaits) {
  const FullDisk disk;
  Capture capture = disk.Start();
  const std::string line(65535, 'x');
  for (int i = 0; i < 200; ++i) disk.Print(capture, line + "\n");
  EXPECT_GT(capture.lost_bytes(), 4 << 20);
  disk.GetRoom();
  capture.TryAgain();
  EXPECT_EQ(static_cast<long long>(disk.Written().size()) + capture.lost_bytes(), 200 << 16);
}

TEST(CaptureTest, ACapOfNothingKeepsNothing) {
  EXPECT_EQ(CaptureAll({"abc\n"}, 0).text, kNotice);
  EXPECT_EQ(CaptureAll({"abc\n"}, -5).text, kNotice);
  EXPECT_EQ(CaptureAll({}, 0).text, "");
}

}  // namespace
}  // namespace sluice
