// What is kept of a program's output.

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

// Sends the parts through a pipe, one read each.
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

// A result is a result, wherever the cap falls.
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

TEST(CaptureTest, ACapOfNothingKeepsNothing) {
  EXPECT_EQ(CaptureAll({"abc\n"}, 0).text, kNotice);
  EXPECT_EQ(CaptureAll({"abc\n"}, -5).text, kNotice);
  EXPECT_EQ(CaptureAll({}, 0).text, "");
}

}  // namespace
}  // namespace sluice
